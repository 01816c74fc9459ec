use std::{
    pin::Pin,
    task::{Context, Poll},
};

use blocking::Task;

/// Runs `work` on a thread that may block. Once begun it is finished, even if this future is dropped:
/// what is half done to a lock can be undone by nobody.
pub(crate) fn finish<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Finish<T> {
    Finish(Some(blocking::unblock(work)))
}

/// What [`finish`] returns.
pub(crate) struct Finish<T>(Option<Task<T>>);

impl<T> Future for Finish<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        match &mut self.0 {
            Some(task) => Pin::new(task).poll(context),
            None => Poll::Pending,
        }
    }
}

impl<T> Drop for Finish<T> {
    fn drop(&mut self) {
        if let Some(task) = self.0.take() {
            task.detach();
        }
    }
}
