//! One NFQUEUE queue of one network namespace, used over a netlink socket.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::message::{self, Fate, Received};

const RECEIVE_BYTES: libc::c_int = 32 << 20;
const BUFFER_BYTES: usize = 1 << 16;

/// A queue that is bound to this process. The process receives the queue's packets until this value
/// is dropped.
pub struct Queue {
    socket: OwnedFd,
    number: u16,
    buffer: Vec<u8>,
}

impl Queue {
    /// Binds the queue `number` of the network namespace at the path `netns`, such as
    /// "/proc/PID/ns/net". As a side effect, the calling thread enters that namespace and stays in
    /// it.
    pub fn bind(netns: &str, number: u16) -> io::Result<Self> {
        let namespace = File::open(netns)?;
        // SAFETY: the descriptor is open and refers to a namespace. Only the calling thread changes
        // its namespace.
        check(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) })?;
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: the call takes only numbers. The returned descriptor is wrapped below.
        let raw = unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_NETFILTER) };
        check(raw)?;
        // SAFETY: the descriptor is new and has no other owner.
        let socket = unsafe { OwnedFd::from_raw_fd(raw) };
        let mut queue = Queue {
            socket,
            number,
            buffer: vec![0; BUFFER_BYTES],
        };
        queue.option(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, RECEIVE_BYTES)?;
        // With this option, packets that do not fit into the socket's buffer pass undelayed.
        // Without it, they would cause an error of the socket.
        queue.option(libc::SOL_NETLINK, libc::NETLINK_NO_ENOBUFS, 1)?;
        queue.request(&message::bind(number))?;
        queue.request(&message::configure(number))?;
        Ok(queue)
    }

    /// Waits up to `timeout_ns` nanoseconds for packets. Returns the ids of the packets that
    /// arrived, in order of arrival; the list is empty at a timeout or a signal.
    pub fn wait(&mut self, timeout_ns: u64) -> io::Result<Vec<u32>> {
        let mut poll = libc::pollfd {
            fd: self.socket.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let timeout = libc::timespec {
            tv_sec: (timeout_ns / 1_000_000_000) as libc::time_t,
            tv_nsec: (timeout_ns % 1_000_000_000) as libc::c_long,
        };
        // SAFETY: the call receives one valid pollfd and a valid timespec.
        let ready = unsafe { libc::ppoll(&mut poll, 1, &timeout, std::ptr::null()) };
        if ready < 0 {
            let error = io::Error::last_os_error();
            return match error.kind() {
                io::ErrorKind::Interrupted => Ok(Vec::new()),
                _ => Err(error),
            };
        }
        let mut packets = Vec::new();
        if ready == 0 {
            return Ok(packets);
        }
        while let Some(messages) = self.receive(libc::MSG_DONTWAIT)? {
            packets.extend(messages.iter().filter_map(|one| match one {
                Received::Packet(id) => Some(*id),
                Received::Answer(_) => None,
            }));
        }
        Ok(packets)
    }

    /// Accepts the packet with this id and all earlier packets of the queue.
    pub fn accept_up_to(&self, id: u32) -> io::Result<()> {
        self.send(&message::verdict(self.number, id, Fate::Accept, true))
    }

    /// Drops the packet with this id.
    pub fn lose(&self, id: u32) -> io::Result<()> {
        self.send(&message::verdict(self.number, id, Fate::Drop, false))
    }

    fn request(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.send(bytes)?;
        loop {
            for one in self.receive(0)?.unwrap_or_default() {
                if let Received::Answer(number) = one {
                    return match number {
                        0 => Ok(()),
                        _ => Err(io::Error::from_raw_os_error(number)),
                    };
                }
            }
        }
    }

    fn send(&self, bytes: &[u8]) -> io::Result<()> {
        // SAFETY: the buffer is valid for its length.
        let sent = unsafe {
            let data = bytes.as_ptr().cast();
            libc::send(self.socket.as_raw_fd(), data, bytes.len(), 0)
        };
        check(sent as libc::c_int).map(drop)
    }

    /// Receives the messages of one datagram; `flags` are those of the system call `recv`. Returns
    /// None if MSG_DONTWAIT is set and there is no datagram.
    fn receive(&mut self, flags: libc::c_int) -> io::Result<Option<Vec<Received>>> {
        // SAFETY: the buffer is valid for its length.
        let length = unsafe {
            let data = self.buffer.as_mut_ptr().cast();
            libc::recv(self.socket.as_raw_fd(), data, self.buffer.len(), flags)
        };
        if length >= 0 {
            return Ok(Some(message::received(&self.buffer[..length as usize])));
        }
        let error = io::Error::last_os_error();
        match error.kind() {
            io::ErrorKind::WouldBlock => Ok(None),
            io::ErrorKind::Interrupted => Ok(Some(Vec::new())),
            _ => Err(error),
        }
    }

    fn option(&self, level: libc::c_int, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
        // SAFETY: an int option is given by a pointer to an int and its size.
        check(unsafe {
            let data = std::ptr::from_ref(&value).cast();
            let size = size_of::<libc::c_int>() as libc::socklen_t;
            libc::setsockopt(self.socket.as_raw_fd(), level, name, data, size)
        })
        .map(drop)
    }
}

fn check(answer: libc::c_int) -> io::Result<libc::c_int> {
    match answer {
        0.. => Ok(answer),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;

    use super::*;
    use crate::message::packet;

    const TIMEOUT_NS: u64 = 60_000_000_000;

    /// Returns a queue whose messages come from the returned socket instead of the kernel.
    fn queue() -> (Queue, UnixDatagram) {
        let (own, kernel) = UnixDatagram::pair().unwrap();
        let queue = Queue {
            socket: own.into(),
            number: 7,
            buffer: vec![0; BUFFER_BYTES],
        };
        (queue, kernel)
    }

    #[test]
    fn packets_are_received_and_verdicts_are_sent() {
        let (mut queue, kernel) = queue();
        kernel.send(&packet(5)).unwrap();
        kernel.send(&[packet(6), packet(7)].concat()).unwrap();
        assert_eq!(queue.wait(TIMEOUT_NS).unwrap(), [5, 6, 7]);
        assert!(queue.wait(0).unwrap().is_empty());
        queue.accept_up_to(6).unwrap();
        queue.lose(7).unwrap();
        let mut bytes = [0; 64];
        for sent in [
            message::verdict(7, 6, Fate::Accept, true),
            message::verdict(7, 7, Fate::Drop, false),
        ] {
            let length = kernel.recv(&mut bytes).unwrap();
            assert_eq!(bytes[..length], sent);
        }
    }

    /// Shows that datagrams of every length are read. A datagram that is longer than the buffer is
    /// cut to the length of the buffer.
    #[test]
    fn datagrams_of_any_length_are_read() {
        let (mut queue, kernel) = queue();
        let most = packet(1).repeat(BUFFER_BYTES / packet(1).len() + 2);
        for length in [
            0,
            1,
            15,
            16,
            19,
            20,
            packet(1).len(),
            BUFFER_BYTES,
            most.len(),
        ] {
            kernel.send(&most[..length]).unwrap();
            let whole = length.min(BUFFER_BYTES) / packet(1).len();
            assert_eq!(
                queue.wait(TIMEOUT_NS).unwrap().len(),
                whole,
                "{length} bytes"
            );
        }
    }

    #[test]
    fn a_closed_socket_is_an_error() {
        let (queue, kernel) = queue();
        drop(kernel);
        assert!(queue.accept_up_to(1).is_err());
    }
}
