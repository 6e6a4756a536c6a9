//! Reads the operations with timestamped events that Ceph's OpTracker writes (`dump_historic_ops`
//! and similar commands).

use serde_json::Value;

use super::gathered::Gathered;
use super::lines::unix_ns;
use crate::span::Span;
use crate::tree::shape::{digest_of, mix};

/// Adds one operation of an OSD as a call. The call has one child call for each event, which covers
/// the interval before this event.
///
/// The interval before an event is attributed to the event, because Ceph timestamps an event when
/// the operation reaches it. Times before the operation's start are ignored, because the client's
/// clock set them.
pub fn operation(value: &Value, found: &mut Gathered) {
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
    let description = text("description");
    let duration_s = value.get("duration").and_then(Value::as_f64);
    let begun = moment(text("initiated_at"));
    let (Some(start_ns), Some(duration_s)) = (begun, duration_s.filter(|&took| took >= 0.0)) else {
        found.losses.bad_times += 1;
        return;
    };
    let end_ns = start_ns.saturating_add((duration_s * 1e9).round() as u64);
    let digest = mix(digest_of(description) ^ start_ns) | 1;
    let root = Span {
        trace_id: u128::from(digest),
        span_id: digest,
        start_ns,
        end_ns,
        ..Span::default()
    };
    found.add(kind(description), "ceph", "", root);
    let events = value.get("type_data").and_then(|data| data.get("events"));
    let mut at_ns = start_ns;
    for (number, event) in (1u64..).zip(events.and_then(Value::as_array).into_iter().flatten()) {
        let word = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
        let reached = moment(word("time")).or_else(|| moment(word("stamp")));
        let Some(reached_ns) = reached.filter(|&reached| reached >= at_ns) else {
            found.losses.bad_times += u64::from(reached.is_none());
            continue;
        };
        if reached_ns > at_ns {
            let name = format!("until {}", step(word("event")));
            let below = Span {
                span_id: mix(digest ^ number) | 1,
                parent_id: digest,
                start_ns: at_ns,
                end_ns: reached_ns,
                wait: name.contains("wait") || name.contains("queue"),
                ..root
            };
            found.add(&name, "ceph", "", below);
        }
        at_ns = reached_ns;
    }
}

/// Returns the type of an operation, which is the first word of its description:
/// "osd_op(client.4177.0:5 1.7 …)" is an osd_op.
fn kind(description: &str) -> &str {
    let end = description.find(['(', ' ']).unwrap_or(description.len());
    &description[..end]
}

/// Returns the name of an event without the ids of daemons and operations in it, so that equal
/// events have equal names.
fn step(event: &str) -> String {
    let words = event.split_whitespace();
    let known = |word: &&str| !word.bytes().any(|byte| byte.is_ascii_digit());
    words.filter(known).collect::<Vec<_>>().join(" ")
}

/// Parses a time such as "2019-01-16T08:48:58.395014+0000" as Unix time in ns. Older versions of
/// Ceph write a space instead of the T.
fn moment(text: &str) -> Option<u64> {
    let (date, time) = text.split_once(['T', ' '])?;
    let (time, zone) = time.split_at(time.find(['+', '-', 'Z']).unwrap_or(time.len()));
    let away = zone.trim_start_matches(['+', '-', 'Z']).replace(':', "");
    let minutes = match away.as_str() {
        "" => 0,
        digits if digits.len() == 4 => {
            let (hours, minutes) = digits.split_at_checked(2)?;
            hours.parse::<u64>().ok()? * 60 + minutes.parse::<u64>().ok()?
        }
        _ => return None,
    };
    let local_ns = unix_ns(&date.replace('-', "."), time)?;
    let away_ns = minutes * 60_000_000_000;
    if zone.starts_with('-') {
        local_ns.checked_add(away_ns)
    } else {
        local_ns.checked_sub(away_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_old_and_new_versions_and_of_other_zones() {
        let noon = moment("2019-01-16T12:00:00.500000+0000");
        assert_eq!(noon, Some(1_547_640_000_500_000_000));
        for same in [
            "2019-01-16 12:00:00.500000",
            "2019-01-16T14:30:00.500000+0230",
            "2019-01-16T11:00:00.5-0100",
            "2019-01-16T12:00:00.5Z",
        ] {
            assert_eq!(moment(same), noon, "{same}");
        }
        for wrong in [
            "",
            "2019-01-16",
            "2019-13-16 12:00:00.5",
            "2019-01-16T12:00:00.5+1",
        ] {
            assert_eq!(moment(wrong), None, "{wrong}");
        }
    }
}
