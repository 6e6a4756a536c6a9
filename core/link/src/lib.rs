//! Delay, jitter and loss on links, for kernels without netem: packets that a rule sends to a
//! queue (NFQUEUE) are held for their time and then let go, or dropped.
//!
//! The rule belongs on the receiving side, since held packets would throttle a sender:
//! `iptables-legacy -t mangle -A PREROUTING -i eth0 -j NFQUEUE --queue-num 7 --queue-bypass`.
//! Without this process such packets pass at once.

mod line;
mod message;
mod queue;
mod schedule;

pub use line::{run, Line, Report};
pub use schedule::Schedule;
