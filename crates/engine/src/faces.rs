//! What faces keep for the process: the engine holds it, and does not know what it is.

use std::any::Any;
use std::sync::OnceLock;

/// Kinds of state there can be: the Rust face has three, the C face six, and a program may have
/// both.
const MOST: usize = 16;

/// One value of each type, made at first use. A forked child has an engine of its own, so it begins
/// with none.
#[derive(Default)]
pub(crate) struct Faces([OnceLock<Box<dyn Any + Send + Sync>>; MOST]);

impl Faces {
    /// The value of this type.
    ///
    /// # Panics
    /// If more types than [`MOST`] are asked for.
    pub(crate) fn state<T: Any + Default + Send + Sync>(&self) -> &T {
        let of_type = |place: &'_ OnceLock<Box<dyn Any + Send + Sync>>| {
            place.get_or_init(|| Box::<T>::default()).is::<T>()
        };
        // A place that another type has won in between is passed over.
        let place = self.0.iter().find(|place| of_type(place));
        let state = place.and_then(|place| place.get()?.downcast_ref());
        state.expect("there are more places than types")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;
    use std::sync::atomic::Ordering::SeqCst;

    #[derive(Default)]
    struct One(AtomicU32);
    #[derive(Default)]
    struct Other(AtomicU32);

    #[test]
    fn there_is_one_value_of_each_type() {
        let faces = Faces::default();
        faces.state::<One>().0.store(1, SeqCst);
        faces.state::<Other>().0.store(2, SeqCst);
        assert_eq!(faces.state::<One>().0.load(SeqCst), 1);
        assert_eq!(faces.state::<Other>().0.load(SeqCst), 2);
    }
}
