//! Converts the spans and the executed operations of a client's record to the form in which a run
//! returns them.

use dfslab_workload::encode;

use crate::record::Record;
use crate::report::SpanRecord;

impl Record {
    /// The executed operations as bytes. Each operation is encoded, and its start follows in 8
    /// bytes, little endian. The start is in ns after the common start.
    pub fn executed(&self) -> impl Iterator<Item = u8> + '_ {
        self.executed.iter().flat_map(|(operation, begun)| {
            let after = begun.saturating_sub(self.start_ns).to_le_bytes();
            encode(&[*operation]).into_iter().chain(after)
        })
    }

    /// The recorded spans. Their ids are unique over all clients: the high bits are the client's
    /// number, the low bits count from 1.
    pub fn spans(&self) -> impl Iterator<Item = SpanRecord> + '_ {
        let unix = |at: u64| self.zero_unix_ns + at.saturating_sub(self.start_ns);
        let id = |place: u64| (u64::from(self.client) + 1) << 40 | place;
        self.spans.iter().zip(1u64..).map(move |(span, place)| {
            let name = span.kind.name();
            SpanRecord {
                name: match span.step {
                    None => name.to_string(),
                    Some(step) => format!("{name}/{}", step.name()),
                },
                start_unix_ns: unix(span.start),
                end_unix_ns: unix(span.end),
                span_id: id(place),
                parent_id: if span.parent == 0 { 0 } else { id(span.parent) },
                thread: self.client,
                bytes: span.bytes,
            }
        })
    }
}
