//! Reads text logs with one call per line: the output of `strace -f -T -ttt` and the access log of
//! JuiceFS.

use std::collections::HashMap;

use super::gathered::{Gathered, GATHERED_MAX};
use super::source::{Failure, Source};
use crate::error::FilePosition;
use crate::span::{Span, SpanStore};

const FIRST_LINES: usize = 8;

/// The format of a text log, recognised by its first lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// System calls as strace logs them, with Unix start times and durations.
    Strace,
    /// File operations as JuiceFS logs them, with end times and durations.
    JuiceFs,
}

struct Call<'a> {
    row: u64,
    name: &'a str,
    /// The time in the line, in ns since 1970. strace writes the start of the call; JuiceFS writes
    /// its end.
    at_ns: u64,
    took_ns: u64,
    bytes: u64,
    failed: bool,
}

impl Form {
    /// Recognises the format of a log by the first line that is a call in a known format. Tries the
    /// first FIRST_LINES lines, since a log may begin in the middle of a line. None if none of
    /// these lines is such a call.
    pub fn recognise(bytes: &[u8]) -> Option<Form> {
        let lines = bytes.split(|&byte| byte == b'\n').take(FIRST_LINES);
        lines.into_iter().find_map(|line| {
            let line = String::from_utf8_lossy(&line[..line.len().min(4096)]);
            if juicefs(&line).is_some() {
                return Some(Form::JuiceFs);
            }
            let (_, _, rest) = strace_head(&line)?;
            rest.contains('(').then_some(Form::Strace)
        })
    }
}

/// Reads one text log, line by line.
pub struct LineReader {
    form: Form,
    /// For each thread: the call whose first line was read and whose second line is still missing,
    /// as (start in ns, name). strace splits a call into two lines if it logs a call of another
    /// thread in between.
    begun: HashMap<u64, (u64, String)>,
    durations: bool,
    found: Gathered,
}

impl LineReader {
    /// Creates a reader that is at the start of a file.
    pub fn new(form: Form) -> Self {
        let (begun, found) = (HashMap::new(), Gathered::default());
        Self {
            form,
            begun,
            durations: false,
            found,
        }
    }

    /// Reads spans until the store holds `room` spans. Returns false at the end of the file. A line
    /// that completes no call is counted in `other_lines`; examples are exits, signals and the
    /// first line of a split call.
    pub fn advance(
        &mut self,
        source: &mut Source<'_>,
        store: &mut SpanStore,
        room: usize,
    ) -> Result<bool, Failure> {
        while store.spans.len() < room {
            let Some(length) = line_length(source)? else {
                if self.form == Form::Strace && !self.durations {
                    let reason = "strace without durations: use -f -T -ttt".to_owned();
                    return Err(Failure::At(FilePosition::Whole, reason));
                }
                self.found.losses.unpaired += std::mem::take(&mut self.begun).len() as u64;
                self.settle(store);
                return Ok(false);
            };
            let line = String::from_utf8_lossy(&source.rest()[..length]);
            self.durations |= line.contains('<');
            // JuiceFS writes a line "#" for a second without operations; such a line is not
            // counted.
            if !matches!(line.trim(), "" | "#") {
                let others = self.found.losses.other_lines;
                self.take(line.trim_end_matches(['\r', '\n']));
                if !line.ends_with('\n') && self.found.losses.other_lines > others {
                    // A last line that is not a call and has no line break was truncated. Such a
                    // line is counted as a truncation of the file and not as another line.
                    self.found.losses.other_lines = others;
                    self.found.losses.truncated_files += 1;
                    self.found.losses.unread_bytes += length as u64;
                }
            }
            source.consume(length);
            if self.found.spans() >= GATHERED_MAX {
                self.found.losses.cut_traces += 1;
                self.settle(store);
            }
        }
        Ok(true)
    }

    fn settle(&mut self, store: &mut SpanStore) {
        match self.form {
            Form::Strace => self.found.nest(),
            // The calls of a JuiceFS mount are never nested, although calls of several threads
            // overlap.
            Form::JuiceFs => self.found.number(),
        }
        self.found.move_into(store, true);
    }

    fn take(&mut self, line: &str) {
        let call = match self.form {
            Form::JuiceFs => juicefs(line),
            Form::Strace => strace(line, &mut self.begun),
        };
        let Some(call) = call else {
            self.found.losses.other_lines += 1;
            return;
        };
        let start_ns = match self.form {
            Form::JuiceFs => call.at_ns.saturating_sub(call.took_ns),
            Form::Strace => call.at_ns,
        };
        let span = Span {
            start_ns,
            end_ns: start_ns.saturating_add(call.took_ns),
            thread: call.row + 1,
            bytes: call.bytes,
            status_error: call.failed,
            ..Span::default()
        };
        self.found.add(call.name, "", "", span);
    }
}

/// Reads the next line into memory and returns its length in bytes, including the line break. None
/// at the end of the file.
fn line_length(source: &mut Source<'_>) -> Result<Option<usize>, Failure> {
    let mut searched = 0;
    loop {
        let rest = source.rest();
        if let Some(end) = memchr::memchr(b'\n', &rest[searched..]) {
            return Ok(Some(searched + end + 1));
        }
        searched = rest.len();
        if !source.more()? {
            return Ok((searched > 0).then_some(searched));
        }
    }
}

/// Converts a time in seconds, given as text with a decimal point, to nanoseconds. None for other
/// texts.
fn nanoseconds(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.')?;
    if part.is_empty() || part.len() > 9 || !part.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let part: u64 = format!("{part:0<9}").parse().ok()?;
    whole
        .parse::<u64>()
        .ok()?
        .checked_mul(1_000_000_000)?
        .checked_add(part)
}

/// Splits a line of strace such as "812 1700000000.000001 read(3, ..." into three parts: the
/// process id (0 if the line has none), the time in ns, and the text of the call.
fn strace_head(line: &str) -> Option<(u64, u64, &str)> {
    let line = line.trim_start().trim_start_matches("[pid").trim_start();
    let (first, rest) = line.split_once(' ')?;
    if let Some(at_ns) = nanoseconds(first) {
        return Some((0, at_ns, rest.trim_start()));
    }
    let process = first.trim_end_matches(']').parse().ok()?;
    let (time, rest) = rest.trim_start().split_once(' ')?;
    Some((process, nanoseconds(time)?, rest.trim_start()))
}

fn strace<'a>(line: &'a str, begun: &mut HashMap<u64, (u64, String)>) -> Option<Call<'a>> {
    let (row, mut at_ns, rest) = strace_head(line)?;
    if let Some(head) = rest.strip_suffix("<unfinished ...>") {
        let name = head.split('(').next()?.to_owned();
        begun.insert(row, (at_ns, name));
        return None;
    }
    let name = match rest.strip_prefix("<... ") {
        Some(resumed) => {
            at_ns = begun.remove(&row)?.0;
            resumed.split(' ').next()?
        }
        None => rest.split_once('(')?.0,
    };
    let took_ns = nanoseconds(rest.trim_end().strip_suffix('>')?.rsplit_once('<')?.1)?;
    let answer = rest.rsplit_once(" = ")?.1;
    let answer = answer.split(' ').next().unwrap_or_default();
    let moves = [
        "read",
        "write",
        "sendfile",
        "splice",
        "copy_file_range",
        "recv",
        "send",
    ];
    let moved = moves.iter().any(|one| name.contains(one));
    Some(Call {
        row,
        name,
        at_ns,
        took_ns,
        bytes: answer.parse().ok().filter(|_| moved).unwrap_or(0),
        failed: answer.starts_with("-1"),
    })
}

/// Parses a line of JuiceFS's log. The line has one of two forms:
/// - before version 1.2: "2021.01.15 08:26:11.003330 [uid:0,gid:0,pid:4403] write
///   (17669,8666,4993160): OK <0.000010>"
/// - since version 1.2: "… read (3,4096,0,9): (6) - OK <0.000344>"
fn juicefs(line: &str) -> Option<Call<'_>> {
    let (date, rest) = line.split_once(' ')?;
    let (time, rest) = rest.split_once(' ')?;
    let (ids, rest) = rest.strip_prefix('[')?.split_once("] ")?;
    let (name, rest) = rest.split_once(' ')?;
    let took_ns = nanoseconds(rest.trim_end().strip_suffix('>')?.rsplit_once('<')?.1)?;
    let process = ids.rsplit_once("pid:")?.1.parse().ok()?;
    let reported = rest.strip_prefix('(')?;
    // The status follows the last occurrence of one of these separators. An earlier occurrence may
    // be part of a file name, since a file name may contain any text.
    let marks = [") - ", "] - ", "): - "];
    let newer = marks
        .iter()
        .filter_map(|mark| reported.rfind(mark).map(|at| at + mark.len()));
    let answer = match newer.max() {
        Some(at) => &reported[at..],
        None => reported.split_once("): ")?.1,
    };
    let arguments = reported.split(')').next().unwrap_or_default();
    let requested = || arguments.split(',').nth(1)?.trim().parse().ok();
    let moved = || {
        reported
            .split_once("): (")?
            .1
            .split(')')
            .next()?
            .parse()
            .ok()
    };
    let bytes = match name {
        "read" => moved().or_else(requested).unwrap_or(0),
        "write" => requested().unwrap_or(0),
        _ => 0,
    };
    Some(Call {
        row: process,
        name,
        at_ns: unix_ns(date, time)?,
        took_ns,
        bytes,
        failed: !answer.starts_with("OK"),
    })
}

/// Converts a date and a time of day in UTC to Unix time, ns. The days since 1970 are computed by
/// Hinnant's algorithm.
pub fn unix_ns(date: &str, time: &str) -> Option<u64> {
    let parts: Vec<u64> = date
        .split('.')
        .map(|part| part.parse().ok())
        .collect::<Option<_>>()?;
    let &[year, month @ 1..=12, day @ 1..=31] = parts.as_slice() else {
        return None;
    };
    if !(1970..=9999).contains(&year) {
        return None;
    }
    let from_march = (month + 9) % 12;
    let year = year - u64::from(month <= 2);
    let (era, of_era) = (year / 400, year % 400);
    let of_year = (153 * from_march + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    let days = days.checked_sub(719_468)?;
    let (hours, rest) = time.split_once(':')?;
    let (minutes, seconds) = rest.split_once(':')?;
    let whole =
        days * 86_400 + hours.parse::<u64>().ok()? * 3600 + minutes.parse::<u64>().ok()? * 60;
    nanoseconds(seconds)?.checked_add(whole.checked_mul(1_000_000_000)?)
}
