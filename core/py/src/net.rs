//! Python bindings of Petri nets. Nets, options and results are JSON. No Python code runs while a
//! net is simulated.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{mpsc, Mutex, MutexGuard};
use std::time::Duration;

use dfslab_net::{
    compile, lint, run, state_space, CompiledNet, ErrorKind, Game, NetDefinition, NetError,
    RunOptions,
};
use pyo3::prelude::*;

use crate::error::{InputError, RunError};

/// Interval at which the thread that waits for a run of a net checks for Ctrl-C.
const POLL: Duration = Duration::from_millis(50);

fn to_python(error: NetError) -> PyErr {
    match error.kind {
        ErrorKind::Input => InputError::new_err(error.to_string()),
        ErrorKind::Run => RunError::new_err(error.to_string()),
    }
}

fn net_of(net_json: &str) -> PyResult<CompiledNet> {
    NetDefinition::from_json(net_json)
        .and_then(compile)
        .map_err(to_python)
}

/// Checks a net. Returns, as JSON, the size of the net and a list of its slow arcs. An arc is slow
/// if no index applies, so that all its tokens must be scanned for a match. Raises InputError if
/// the net is invalid.
#[pyfunction]
fn net_check(net_json: &str) -> PyResult<String> {
    Ok(lint(&net_of(net_json)?).to_string())
}

/// Simulates a net with the given options and returns the result of every replication as JSON.
/// Ctrl-C stops the run and raises KeyboardInterrupt.
#[pyfunction]
#[pyo3(signature = (net_json, options_json="{}"))]
fn net_run(py: Python<'_>, net_json: &str, options_json: &str) -> PyResult<String> {
    let net = net_of(net_json)?;
    let options = RunOptions::from_json(options_json).map_err(to_python)?;
    interruptible(py, |stop| {
        run(&net, &options, stop).map(|result| result.to_string())
    })
}

type Answer = dfslab_net::Result<String>;

/// Does `work` on another thread and returns its result. Ctrl-C sets the flag that `work` receives,
/// and raises KeyboardInterrupt.
fn interruptible(
    py: Python<'_>,
    work: impl FnOnce(&AtomicBool) -> Answer + Send,
) -> PyResult<String> {
    let stop = AtomicBool::new(false);
    let result = py.detach(|| {
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            let flag = &stop;
            // The receiver waits for this message, so sending cannot fail.
            scope.spawn(move || sender.send(work(flag)).is_ok());
            wait(&receiver, &stop)
        })
    });
    result?.map_err(to_python)
}

/// Waits for the result of the thread that does the work. On Ctrl-C, sets `stop`, waits for the end
/// of the work, discards its result and returns KeyboardInterrupt.
fn wait(receiver: &mpsc::Receiver<Answer>, stop: &AtomicBool) -> PyResult<Answer> {
    let mut interrupted = None;
    loop {
        match receiver.recv_timeout(POLL) {
            Ok(answer) => return interrupted.map_or(Ok(answer), Err),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                if let Err(signal) = Python::attach(|py| py.check_signals()) {
                    stop.store(true, Ordering::Relaxed);
                    interrupted.get_or_insert(signal);
                }
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return Err(RunError::new_err("the net engine crashed"));
            }
        }
    }
}

/// Explores the state space of a small net, up to `markings_max` reachable markings. Returns JSON
/// with bounds of the number of tokens on each place. The key `complete` is true if all reachable
/// markings were explored. In this case, the JSON also has those properties of the net that can
/// only be derived from the whole state space. Ctrl-C stops the exploration and raises
/// KeyboardInterrupt.
#[pyfunction]
#[pyo3(signature = (net_json, markings_max=100_000))]
fn net_state_space(py: Python<'_>, net_json: &str, markings_max: usize) -> PyResult<String> {
    let net = net_of(net_json)?;
    interruptible(py, |stop| {
        state_space(&net, markings_max, stop).map(|report| report.to_string())
    })
}

/// A net that Python fires step by step. A lock allows one thread at a time.
#[pyclass]
struct NetGame(Mutex<Game>);

impl NetGame {
    fn game(&self) -> MutexGuard<'_, Game> {
        self.0.lock().expect("a game that panicked is over")
    }
}

#[pymethods]
impl NetGame {
    #[new]
    #[pyo3(signature = (net_json, seed=0))]
    fn new(net_json: &str, seed: u64) -> PyResult<Self> {
        let game = Game::new(net_of(net_json)?, seed).map_err(to_python)?;
        Ok(Self(Mutex::new(game)))
    }

    /// Returns the time, the marking, the tokens in transit and the enabled bindings as JSON.
    fn state(&self) -> String {
        self.game().state().to_string()
    }

    /// Fires the enabled binding with the index `choice` in the list that `state` returned.
    fn fire(&self, choice: usize) -> PyResult<()> {
        self.game().fire(choice).map_err(to_python)
    }
}

/// Adds the functions of this file to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<NetGame>()?;
    module.add_function(wrap_pyfunction!(net_check, module)?)?;
    module.add_function(wrap_pyfunction!(net_state_space, module)?)?;
    module.add_function(wrap_pyfunction!(net_run, module)?)
}
