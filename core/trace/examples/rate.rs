//! Measures and prints how many spans per second each stage of trace processing handles. The input
//! is a synthetic trace like those of HDFS.

#[path = "../tests/support/mod.rs"]
mod support;

use std::path::Path;
use std::time::Instant;

use dfslab_trace::{
    profile_files, read_bytes, write_file, Forest, OutputFormat, Reading, Report, ReportOptions,
    SpanProfile, SpanStore, SpanStream, Window,
};

const ROUNDS: usize = 5;

fn best_of<T>(spans: usize, what: &str, mut work: impl FnMut() -> T) -> T {
    let mut best_s = f64::INFINITY;
    let mut outcome = None;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let value = work();
        best_s = best_s.min(start.elapsed().as_secs_f64());
        outcome = Some(value);
    }
    println!("{what:<28} {:7.2} Mspan/s", spans as f64 / best_s / 1e6);
    outcome.expect("at least one round")
}

/// Reads the file at `path`, converts it to a profile and prints the time taken. This lets a
/// profiler measure the reader alone.
fn one_file(path: &Path) {
    let start = Instant::now();
    let profile = profile_files(&[path], &Reading::default()).expect("a sound trace");
    let rate = profile.spans as f64 / start.elapsed().as_secs_f64() / 1e6;
    println!("{} spans, {rate:.2} Mspan/s", profile.spans);
}

fn main() {
    if let Some(path) = std::env::args_os().nth(1) {
        return one_file(Path::new(&path));
    }
    let planted = support::hdfs_like(2000, 42);
    let spans = planted.spans.len();
    println!(
        "{spans} spans in {} trees, best of {ROUNDS}, one thread",
        2000
    );
    let mut store = SpanStore::default();
    for (format, name) in [
        (OutputFormat::Json, "JSON"),
        (OutputFormat::Protobuf, "protobuf"),
    ] {
        let path = support::temporary(name);
        let write = || write_file(&planted, &path, format).expect("a writable folder");
        best_of(spans, &format!("write {name}"), write);
        let bytes = std::fs::read(&path).expect("the trace just written");
        std::fs::remove_file(&path).expect("the trace just written");
        let megabytes = bytes.len() as f64 / 1e6;
        store = best_of(spans, &format!("read {name} ({megabytes:.0} MB)"), || {
            let mut store = SpanStore::default();
            read_bytes(Path::new(name), &bytes, &mut store).expect("a sound trace");
            store
        });
        best_of(spans, &format!("{name} to profile"), || {
            let mut stream = SpanStream::new(Window::default());
            stream
                .read(Path::new(name), &bytes[..])
                .expect("a sound trace");
            stream.finish().profile
        });
    }
    let forest = best_of(spans, "recover trees (with a copy)", || {
        Forest::recover(store.clone())
    });
    let profile = best_of(spans, "compress", || SpanProfile::of(&forest));
    let reduction = Report::of(&profile, &ReportOptions::default()).reduction;
    println!("{reduction:?}");
}
