//! Measures the processor time that the load generator itself needs for an operation. It executes
//! the same stream of operations on a target that does nothing.

use std::time::{Duration, Instant};

use dfslab_workload::Stream;

use crate::client::Client;
use crate::clock::{monotonic_ns, thread_cpu_ns};
use crate::content::sample::ReadSample;
use crate::execution::setup::Setup;
use crate::record::completed::BATCH_MAX;
use crate::record::Record;
use crate::report::GeneratorReport;
use crate::target::null::Null;

/// Largest number of operations that are executed for the measurement. Executing this number takes
/// a fraction of a second, and gives the result three significant digits.
const MOST_OPERATIONS: u64 = 20_000;
const LONGEST: Duration = Duration::from_millis(20);
const CALLS: u64 = 2_000;
/// Largest number of files for which the generator's cost is measured. Registering more files would
/// take longer than the measurement itself.
const MOST_FILES: u64 = 100_000;

/// Measures the processor time that the generator needs for one operation of the plan's stream, and
/// the processor time of the cheapest system call. Both are in nanoseconds. The time of an
/// operation is 0 if the stream has more than MOST_FILES files.
pub fn calibrate(setup: &Setup) -> GeneratorReport {
    let stream = &setup.plan.stream;
    let number = setup.plan.clients().start;
    let mut report = GeneratorReport {
        call_floor_ns: call_floor_ns(),
        ..GeneratorReport::default()
    };
    if stream.files_per_client > MOST_FILES || stream.files_together.is_some_and(|n| n > MOST_FILES)
    {
        return report;
    }
    let mut client = Client::new(number, setup, Box::new(Null));
    client.verifies = false;
    // Nothing is checked, because the target that does nothing returns no content to compare.
    client.sample = ReadSample::none();
    client.pretend();
    let mut record = Record::new(number, monotonic_ns(), 0, 0);
    record.begin_part(monotonic_ns());
    let until = Instant::now() + LONGEST;
    let before = thread_cpu_ns();
    let mut done = 0;
    let mut operations = Stream::new(stream, number);
    let mut ahead = Vec::with_capacity(BATCH_MAX);
    // The clock is read only once a batch: a clock read for each operation would be a large part of
    // the measured time.
    while done < MOST_OPERATIONS && Instant::now() < until {
        ahead.clear();
        operations.ahead(0, BATCH_MAX, &mut ahead);
        if ahead.is_empty() {
            break;
        }
        let mut rest = &ahead[..];
        while !rest.is_empty() {
            client.read_clock();
            let ran = client.execute_row(rest, None, &mut record, |_| true);
            rest = &rest[ran.begun..];
        }
        record.settle();
        done += ahead.len() as u64;
    }
    let spent = thread_cpu_ns() - before;
    report.own_ns_per_op = spent as f64 / done.max(1) as f64;
    report
}

fn call_floor_ns() -> f64 {
    let before = thread_cpu_ns();
    for _ in 0..CALLS {
        // SAFETY: the system call takes no arguments and has no effect. `syscall` bypasses a result
        // that the C library may have cached.
        unsafe { libc::syscall(libc::SYS_getppid) };
    }
    (thread_cpu_ns() - before) as f64 / CALLS as f64
}
