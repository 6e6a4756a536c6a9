//! Encodes and decodes the netlink messages of NFQUEUE (linux/netfilter/nfnetlink_queue.h).

const SUBSYSTEM: u16 = 3;
const PACKET: u16 = SUBSYSTEM << 8;
const VERDICT: u16 = (SUBSYSTEM << 8) | 1;
const CONFIG: u16 = (SUBSYSTEM << 8) | 2;
const VERDICT_BATCH: u16 = (SUBSYSTEM << 8) | 3;
const ERROR: u16 = 2;
const REQUEST: u16 = 1;
const ACKNOWLEDGE: u16 = 4;
const HEADER: usize = 16;
const FAMILY_HEADER: usize = 4;
const ATTRIBUTE_HEADER: usize = 4;
const PACKET_HEADER: u16 = 1;
const QUEUE_LENGTH: u32 = 60_000;
const SEGMENTS_STAY_WHOLE: u32 = 1 << 2;
const INET: u16 = 2;

/// The verdict on a packet: what the kernel does with the packet that waited in the queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    /// The packet continues on its way.
    Accept = 1,
    /// The packet is dropped.
    Drop = 0,
}

/// A netlink message under construction, with a list of attributes. `done` fills in the message's
/// length.
struct Message(Vec<u8>);

impl Message {
    fn new(kind: u16, flags: u16, queue: u16) -> Self {
        let mut bytes = vec![0; HEADER + FAMILY_HEADER];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        bytes[18..20].copy_from_slice(&queue.to_be_bytes());
        Message(bytes)
    }

    fn attribute(mut self, kind: u16, value: &[u8]) -> Self {
        let length = (ATTRIBUTE_HEADER + value.len()) as u16;
        self.0.extend_from_slice(&length.to_ne_bytes());
        self.0.extend_from_slice(&kind.to_ne_bytes());
        self.0.extend_from_slice(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }

    fn done(mut self) -> Vec<u8> {
        let length = (self.0.len() as u32).to_ne_bytes();
        self.0[..4].copy_from_slice(&length);
        self.0
    }
}

/// Encodes the request to bind the queue with this number to the socket.
pub fn bind(queue: u16) -> Vec<u8> {
    let [high, low] = INET.to_be_bytes();
    Message::new(CONFIG, REQUEST | ACKNOWLEDGE, queue)
        .attribute(1, &[1, 0, high, low])
        .done()
}

/// Encodes the request that configures a queue. Packet data stays in the kernel, large packets
/// (GSO) stay unsegmented, and the queue has room for 60 000 packets.
pub fn configure(queue: u16) -> Vec<u8> {
    Message::new(CONFIG, REQUEST | ACKNOWLEDGE, queue)
        .attribute(2, &[0, 0, 0, 0, 1])
        .attribute(3, &QUEUE_LENGTH.to_be_bytes())
        .attribute(4, &SEGMENTS_STAY_WHOLE.to_be_bytes())
        .attribute(5, &SEGMENTS_STAY_WHOLE.to_be_bytes())
        .done()
}

/// Encodes the verdict `fate` on the packet with this id. If `all_up_to_it` is true, the verdict
/// also applies to all earlier packets of the queue.
pub fn verdict(queue: u16, id: u32, fate: Fate, all_up_to_it: bool) -> Vec<u8> {
    let kind = if all_up_to_it { VERDICT_BATCH } else { VERDICT };
    let mut value = (fate as u32).to_be_bytes().to_vec();
    value.extend_from_slice(&id.to_be_bytes());
    Message::new(kind, REQUEST, queue)
        .attribute(2, &value)
        .done()
}

/// A message that the kernel sent.
#[derive(Debug, PartialEq)]
pub enum Received {
    /// The packet with this id waits for a verdict.
    Packet(u32),
    /// The reply to a request: 0 for success, or an error number as in `errno`.
    Answer(i32),
}

/// Parses the bytes of one or more netlink messages. Ignores messages that are neither packets nor
/// replies, and stops at a truncated message.
pub fn received(mut bytes: &[u8]) -> Vec<Received> {
    let mut found = Vec::new();
    while bytes.len() >= HEADER {
        let length = u32::from_ne_bytes(word(bytes, 0)) as usize;
        if length < HEADER || length > bytes.len() {
            break;
        }
        let body = &bytes[HEADER..length];
        match u16::from_ne_bytes([bytes[4], bytes[5]]) {
            ERROR if body.len() >= 4 => {
                found.push(Received::Answer(-i32::from_ne_bytes(word(body, 0))));
            }
            PACKET => found.extend(packet_id(body).map(Received::Packet)),
            _ => {}
        }
        bytes = &bytes[length.next_multiple_of(4).min(bytes.len())..];
    }
    found
}

fn packet_id(body: &[u8]) -> Option<u32> {
    let mut rest = body.get(FAMILY_HEADER..)?;
    while rest.len() >= ATTRIBUTE_HEADER {
        let length = usize::from(u16::from_ne_bytes([rest[0], rest[1]]));
        let kind = u16::from_ne_bytes([rest[2], rest[3]]);
        if length < ATTRIBUTE_HEADER || length > rest.len() {
            return None;
        }
        if kind == PACKET_HEADER && length >= ATTRIBUTE_HEADER + 4 {
            return Some(u32::from_be_bytes(word(rest, ATTRIBUTE_HEADER)));
        }
        rest = &rest[length.next_multiple_of(4).min(rest.len())..];
    }
    None
}

fn word(bytes: &[u8], at: usize) -> [u8; 4] {
    bytes[at..at + 4].try_into().expect("four bytes")
}

/// Encodes the message with which the kernel passes on the packet with this id.
#[cfg(test)]
pub fn packet(id: u32) -> Vec<u8> {
    let mut header = id.to_be_bytes().to_vec();
    header.extend_from_slice(&[8, 0, 0]);
    Message::new(PACKET, 0, 7)
        .attribute(10, &[1, 2, 3])
        .attribute(PACKET_HEADER, &header)
        .done()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows that the request to bind a queue has the bytes that libnetfilter_queue writes on a
    /// little-endian machine.
    #[test]
    #[cfg(target_endian = "little")]
    fn binding_is_written_as_the_kernel_reads_it() {
        let expected = [
            28, 0, 0, 0, 2, 3, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 8, 0, 1, 0, 1, 0, 0, 2,
        ];
        assert_eq!(bind(7), expected);
    }

    #[test]
    fn lengths_fit_and_are_multiples_of_four() {
        for message in [
            bind(1),
            configure(1),
            verdict(1, 2, Fate::Accept, true),
            verdict(1, 2, Fate::Drop, false),
        ] {
            assert_eq!(
                u32::from_ne_bytes(word(&message, 0)) as usize,
                message.len()
            );
            assert_eq!(message.len() % 4, 0);
        }
    }

    #[test]
    fn packets_and_answers_are_read_in_order() {
        let mut bytes = packet(5);
        bytes.extend(packet(6));
        let mut answer = Message::new(ERROR, 0, 0).0;
        answer.truncate(HEADER);
        answer.extend_from_slice(&(-1i32).to_ne_bytes());
        bytes.extend(Message(answer).done());
        assert_eq!(
            received(&bytes),
            [
                Received::Packet(5),
                Received::Packet(6),
                Received::Answer(1)
            ]
        );
    }

    #[test]
    fn cut_and_broken_messages_are_passed_over() {
        let whole = packet(9);
        for cut in 0..whole.len() {
            assert_eq!(received(&whole[..cut]), [], "cut to {cut}");
        }
        let mut broken = whole;
        broken[20] = 200;
        assert_eq!(received(&broken), []);
    }
}
