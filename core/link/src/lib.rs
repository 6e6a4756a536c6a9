//! Emulates delay, jitter and packet loss on links, for kernels without netem. An iptables rule
//! sends packets to a queue (NFQUEUE). This process holds each packet of the queue for the packet's
//! delay, and then accepts or drops it.
//!
//! The rule belongs on the receiving side of a link, since held packets would throttle a sender. An
//! example is `iptables-legacy -t mangle -A PREROUTING -i eth0 -j NFQUEUE --queue-num 7
//! --queue-bypass`. While this process does not run, the packets of the queue pass undelayed.

mod line;
mod message;
mod queue;
mod schedule;

pub use line::{run, LinkDirection, LinkReport};
pub use schedule::Schedule;
