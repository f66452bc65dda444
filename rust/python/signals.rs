//! Ctrl-C during a long call: Python's signal handlers run when the calling thread asks.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::error::{Error, Result};
use crate::interrupt::Interrupt;

/// Taking the interpreter back costs other threads time: not more often than this.
const ASK_EVERY: Duration = Duration::from_millis(50);

pub struct Signals {
    caller: ThreadId,
    asked: Mutex<Instant>,
    raised: AtomicBool,
    exception: Mutex<Option<PyErr>>,
}

impl Signals {
    fn new() -> Self {
        Signals {
            caller: thread::current().id(),
            asked: Mutex::new(Instant::now()),
            raised: AtomicBool::new(false),
            exception: Mutex::new(None),
        }
    }

    /// Runs `work` without the interpreter. What a signal handler raised meanwhile is the error.
    pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce(&Signals) -> Result<T> + Send) -> PyResult<T> {
        let signals = Signals::new();
        let result = py.detach(|| work(&signals));
        signals.finish(result)
    }

    fn finish<T>(&self, result: Result<T>) -> PyResult<T> {
        let exception = self.exception.lock().ok().and_then(|mut exception| exception.take());
        // Even if the work got done all the same: the handler ran, and what it raised must not be lost.
        match exception {
            Some(exception) => Err(exception),
            None => Ok(result?),
        }
    }

    /// Runs `work` with the interpreter, on the calling thread. What it raises is the error of the call.
    pub fn attached<T>(&self, work: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T> {
        Python::attach(work).map_err(|exception| {
            if let Ok(mut slot) = self.exception.lock() {
                *slot = Some(exception);
            }
            self.raised.store(true, Ordering::Relaxed);
            Error::Interrupted
        })
    }

    fn ask(&self) -> bool {
        let Ok(mut asked) = self.asked.try_lock() else {
            return false;
        };
        if asked.elapsed() < ASK_EVERY {
            return false;
        }
        let raised = self.attached(|py| py.check_signals()).is_err();
        *asked = Instant::now();
        raised
    }
}

impl Interrupt for Signals {
    fn interrupted(&self) -> bool {
        self.raised.load(Ordering::Relaxed) || (thread::current().id() == self.caller && self.ask())
    }
}
