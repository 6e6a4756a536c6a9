//! Tests that traces of other tools are converted to the expected spans, with the expected names,
//! nesting, bytes, errors and losses.

use std::path::Path;

use dfslab_trace::{read_bytes, Forest, SpanLosses, SpanStore};
use proptest::prelude::*;

const CHROME: &str = r#"{"traceEvents": [
 {"ph": "X", "name": "write", "pid": 1, "tid": 7, "ts": 100, "dur": 50.5},
 {"ph": "B", "name": "disk", "pid": 1, "tid": 7, "ts": 110},
 {"ph": "E", "pid": 1, "tid": 7, "ts": 130},
 {"ph": "X", "name": "other", "pid": 2, "tid": 7, "ts": 110, "dur": 5},
 {"ph": "M", "name": "process_name", "pid": 1}, {"ph": "E", "pid": 9, "tid": 9, "ts": 1}]}"#;
const DFTRACER: &str = "[\n\
 {\"id\":0,\"name\":\"read\",\"cat\":\"POSIX\",\"pid\":5,\"tid\":6,\"ts\":10,\
 \"dur\":9,\"ph\":\"X\",\
 \"args\":{\"ret\":4096}}\n\
 {\"id\":1,\"name\":\"open\",\"cat\":\"POSIX\",\"pid\":5,\"tid\":6,\"ts\":30,\
 \"dur\":2,\"ph\":\"X\"}\n";
const JAEGER: &str = r#"{"data": [{"traceID": "abc", "spans": [
 {"traceID": "abc", "spanID": "1", "operationName": "put", "startTime": 5, "duration": 9,
  "processID": "p1", "references": []},
 {"traceID": "abc", "spanID": "2", "operationName": "rpc", "startTime": 6, "duration": 2,
  "processID": "p2", "references": [{"refType": "CHILD_OF", "traceID": "abc", "spanID": "1"}],
  "tags": [{"key": "error", "value": true}]}],
 "processes": {"p1": {"serviceName": "client"}, "p2": {"serviceName": "server"}}}]}"#;
const ZIPKIN: &str = r#"[
 {"traceId": "5af7183fb1d4cf5f", "id": "6b221d5bc9e6496c", "name": "get", "timestamp": 100,
  "duration": 50, "kind": "CLIENT", "localEndpoint": {"serviceName": "client"}},
 {"traceId": "5af7183fb1d4cf5f", "id": "6b221d5bc9e6496c", "shared": true,
  "name": "get", "timestamp": 110, "duration": 20, "kind": "SERVER",
  "localEndpoint": {"serviceName": "server"}}]"#;
const HTRACE: &str = r#"{"a":"0a","b":10,"e":30,"d":"close","r":"FsShell","p":[]}
{"a":"0b","b":15,"e":20,"d":"complete","r":"FsShell","p":["0a"]}"#;
const STRACE: &str = "\
812 1700000000.000100 openat(AT_FDCWD, \"/x (1)\", O_RDONLY) = 3 <0.000020>\n\
813 1700000000.000110 write(4, \"a\"..., 4096 <unfinished ...>\n\
812 1700000000.000130 read(3, \"...\", 4096) = 4096 <0.000040>\n\
813 1700000000.000200 <... write resumed>) = 4096 <0.000090>\n\
812 1700000000.000300 openat(AT_FDCWD, \"/no\", O_RDONLY) = -1 ENOENT (No such file) <0.000005>\n\
812 1700000000.000400 +++ exited with 0 +++\n";
const JUICEFS: &str = "\
2021.01.15 08:26:11.003330 [uid:0,gid:0,pid:4403] write (17669,8666,4993160): OK <0.000010>\n\
2021.01.15 08:26:11.003473 [uid:0,gid:0,pid:4403] lookup (1,x): no such file <0.00001400>\n";

/// One span, as (name, service, name of the parent, duration in ns, bytes, whether it failed).
type Row = (String, String, String, u64, u64, bool);

fn read(text: &str) -> (Vec<Row>, SpanLosses) {
    let mut store = SpanStore::default();
    read_bytes(Path::new("trace"), text.as_bytes(), &mut store).expect("a sound trace");
    let forest = Forest::recover(store);
    let name = |span: usize| forest.texts.text(forest.spans[span].name).to_owned();
    let mut rows: Vec<(u64, Row)> = (0..forest.spans.len())
        .map(|at| {
            let (span, parent) = (&forest.spans[at], forest.parents[at] as usize);
            let parent = if parent < forest.spans.len() {
                name(parent)
            } else {
                String::new()
            };
            let service = forest.texts.text(span.service).to_owned();
            let figures = (span.duration_ns(), span.bytes, span.status_error);
            (
                span.start_ns,
                (name(at), service, parent, figures.0, figures.1, figures.2),
            )
        })
        .collect();
    rows.sort();
    (
        rows.into_iter().map(|(_, row)| row).collect(),
        forest.losses,
    )
}

fn row(name: &str, service: &str, parent: &str, ns: u64, bytes: u64, failed: bool) -> Row {
    (
        name.into(),
        service.into(),
        parent.into(),
        ns,
        bytes,
        failed,
    )
}

#[test]
fn chrome_and_dftracer() {
    let (rows, losses) = read(CHROME);
    let expected = vec![
        row("write", "pid 1", "", 50_500, 0, false),
        row("disk", "pid 1", "write", 20_000, 0, false),
        row("other", "pid 2", "", 5000, 0, false),
    ];
    assert_eq!(rows, expected);
    assert_eq!(losses.unpaired, 1);
    let (rows, _) = read(DFTRACER);
    let expected = vec![
        row("read", "pid 5", "", 9000, 4096, false),
        row("open", "pid 5", "", 2000, 0, false),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn jaeger_zipkin_and_htrace() {
    let (rows, _) = read(JAEGER);
    let expected = vec![
        row("put", "client", "", 9000, 0, false),
        row("rpc", "server", "put", 2000, 0, true),
    ];
    assert_eq!(rows, expected);
    let (rows, _) = read(ZIPKIN);
    let expected = vec![
        row("get", "client", "", 50_000, 0, false),
        row("get", "server", "get", 20_000, 0, false),
    ];
    assert_eq!(rows, expected);
    let (rows, _) = read(HTRACE);
    let expected = vec![
        row("close", "FsShell", "", 20_000_000, 0, false),
        row("complete", "FsShell", "close", 5_000_000, 0, false),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn strace_and_juicefs() {
    let (rows, losses) = read(STRACE);
    let expected = vec![
        row("openat", "", "", 20_000, 0, false),
        row("write", "", "", 90_000, 4096, false),
        row("read", "", "", 40_000, 4096, false),
        row("openat", "", "", 5000, 0, true),
    ];
    assert_eq!(rows, expected);
    // Two lines are counted as other lines: the first half of the write call, and the exit. The
    // number of unpaired records is 0, since the second half of the write call follows in the log.
    assert_eq!((losses.other_lines, losses.unpaired), (2, 0));
    let (rows, _) = read(JUICEFS);
    let expected = vec![
        row("write", "", "", 10_000, 8666, false),
        row("lookup", "", "", 14_000, 0, true),
    ];
    assert_eq!(rows, expected);
    // The log was recorded from JuiceFS 1.3 on a testbed. Two of its calls look up names that do
    // not exist.
    let recorded = include_str!("../recorded/juicefs-1.3.trace");
    let (rows, losses) = read(recorded);
    let calls = |name| rows.iter().filter(move |row| row.0 == name);
    let bytes = |name| calls(name).map(|row| row.4).collect::<Vec<u64>>();
    assert_eq!(rows.len(), recorded.lines().count());
    assert_eq!((losses.other_lines, losses.bad_times), (0, 0));
    assert_eq!(rows.iter().filter(|row| row.5).count(), 4, "failed calls");
    assert_eq!(
        bytes("read"),
        [6, 6, 6],
        "what was read, not what was asked for"
    );
    assert_eq!(bytes("write").iter().sum::<u64>(), 3 * 6 + 20 * 4096);
    assert!(rows.iter().all(|row| row.2.is_empty()));
    let mut store = SpanStore::default();
    read_bytes(Path::new("trace"), JUICEFS.as_bytes(), &mut store).expect("a sound trace");
    assert_eq!(store.spans[0].end_ns, 1_610_699_171_003_330_000);
}

#[test]
fn damage_is_refused_with_its_line() {
    let refused = |text: &str| {
        let mut store = SpanStore::default();
        let outcome = read_bytes(Path::new("evil"), text.as_bytes(), &mut store);
        outcome.expect_err(text).to_string()
    };
    assert!(refused(&CHROME[..CHROME.len() - 3]).contains("line 6"));
    assert!(refused(&JAEGER[..200]).contains("the file ends within"));
    assert!(refused(&(HTRACE.to_owned() + "\n{\"a\":")).contains("line 3"));
    let timeless = r#"[{"ph": "X", "name": "a", "ts": -5}]"#;
    assert!(
        refused(timeless).contains("1 dropped for times that cannot be"),
        "{}",
        refused(timeless)
    );
}

proptest! {
    #[test]
    fn any_change_of_any_byte_is_borne(
        which in 0usize..7, at in 0usize..1000, byte: u8, cut in 0usize..1000,
    ) {
        let texts = [CHROME, DFTRACER, JAEGER, ZIPKIN, HTRACE, STRACE, JUICEFS];
        let mut bytes = texts[which].as_bytes().to_vec();
        let place = at % bytes.len();
        bytes[place] = byte;
        bytes.truncate(bytes.len() - cut % bytes.len() / 3);
        let mut store = SpanStore::default();
        match read_bytes(Path::new("evil"), &bytes, &mut store) {
            Ok(()) => prop_assert!(Forest::recover(store).trees() > 0),
            Err(error) => prop_assert!(!error.to_string().contains('\n')),
        }
    }
}

#[test]
fn operations_of_ceph_with_the_way_to_each_event() {
    let text = r#"{"size": 20, "duration": 600, "ops": [{
        "description": "osd_op(client.4177.0:5 1.7 [write 0~4096])",
        "initiated_at": "2019-01-16T08:48:58.000000+0000", "age": 9.5, "duration": 0.25,
        "type_data": {"flag_point": "commit sent", "events": [
            {"event": "initiated", "time": "2019-01-16T08:48:58.000000+0000", "duration": 0},
            {"event": "queued_for_pg", "time": "2019-01-16T08:48:58.050000+0000"},
            {"event": "waiting for subops from 1,3", "time": "2019-01-16T08:48:58.100000+0000"},
            {"event": "done", "time": "2019-01-16T08:48:58.250000+0000"}]}}], "complete": true}"#;
    let mut store = SpanStore::default();
    read_bytes(Path::new("ops"), text.as_bytes(), &mut store).expect("a dump");
    let calls: Vec<(&str, u64, bool)> = store
        .spans
        .iter()
        .map(|span| (store.texts.text(span.name), span.duration_ns(), span.wait))
        .collect();
    let expected = [
        ("osd_op", 250_000_000, false),
        ("until queued_for_pg", 50_000_000, true),
        ("until waiting for subops from", 50_000_000, true),
        ("until done", 150_000_000, false),
    ];
    assert_eq!(calls, expected);
    assert_eq!(Forest::recover(store).trees(), 1);
    let cut = &text.as_bytes()[..text.len() / 2];
    let refused = read_bytes(Path::new("ops"), cut, &mut SpanStore::default());
    assert!(refused
        .expect_err("half a dump")
        .to_string()
        .contains("the file ends within"));
}
