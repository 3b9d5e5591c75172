//! Who takes what, whose chunk is claimed, what was completed.

use alloc::vec::Vec;
use core::cell::Cell;
use core::cmp::Reverse;
use core::ops::Range;

use super::{Chunks, Cut, Done, Front, Shape, Speed};

/// Units that nobody has taken, and the NUMA node that they are best done on.
#[derive(Clone, Debug)]
pub struct Part {
    /// `None`: any.
    pub node: Option<u32>,
    /// What there is.
    pub units: Range<u64>,
}

/// A chunk as its thread holds it.
#[derive(Clone, Debug)]
pub struct Taken {
    /// What is in it.
    pub units: Range<u64>,
    node: Option<u32>,
}

fn length(units: &Range<u64>) -> u64 {
    units.end - units.start
}

/// Where the [fronts](Front) of the threads' chunks are: atomic words in the runtime.
pub trait Fronts {
    /// As it is now.
    fn load(&self, thread: usize) -> Front;

    /// A new chunk begins.
    fn open(&self, thread: usize);

    /// [`Front::close`], as one step; how much had begun.
    fn close(&self, thread: usize) -> Option<u64>;
}

/// Of threads that are played by one.
impl Fronts for Vec<Cell<Front>> {
    fn load(&self, thread: usize) -> Front {
        self[thread].get()
    }

    fn open(&self, thread: usize) {
        self[thread].set(Front::OPEN);
    }

    fn close(&self, thread: usize) -> Option<u64> {
        let (closed, begun) = self[thread].get().close()?;
        self[thread].set(closed);
        Some(begun)
    }
}

/// What is left of a job, and who does what of it: owned state, behind the job's lock.
#[derive(Debug)]
pub struct Core {
    cut: Cut,
    chunks: Chunks,
    /// The kernel's length of a chunk.
    chunk: u64,
    left: Vec<Left>,
    taken: Vec<Option<Taken>>,
    pace: Speed,
    done: Option<Done>,
    completed: u64,
    claims: u64,
    stopped: bool,
}

#[derive(Debug)]
struct Left {
    part: Part,
    /// A thread had taken it and not begun it.
    claimed: bool,
}

/// Who asks for a chunk.
#[derive(Clone, Copy, Debug)]
pub struct Asker {
    /// Its number; 0 is the caller.
    pub thread: usize,
    /// The NUMA node that it is on.
    pub node: Option<u32>,
    /// How fast it is, if it knows.
    pub pace: Option<Speed>,
}

impl Core {
    /// A job of these parts for so many threads, the caller among them. `keep` what was completed,
    /// for an [undo](Self::done).
    pub fn new(shape: &Shape, threads: u32, chunks: Chunks, parts: Vec<Part>, keep: bool) -> Self {
        let left = parts.into_iter().filter(|part| !part.units.is_empty());
        let left = left.map(|part| Left {
            part,
            claimed: false,
        });
        Core {
            cut: shape.cut,
            chunks,
            chunk: shape.chunk(threads),
            left: left.collect(),
            taken: (0..threads).map(|_| None).collect(),
            pace: Speed::new(),
            done: keep.then(Done::default),
            completed: 0,
            claims: 0,
            stopped: false,
        }
    }

    /// The next chunk for this thread: of what is left or, where nothing is, of what another thread
    /// has not begun. `None`: there is nothing more to do, or something has [failed](Self::fail).
    pub fn next(&mut self, asker: Asker, fronts: &impl Fronts) -> Option<Taken> {
        self.pace = asker.pace.map_or(self.pace, Speed::for_another);
        while !self.stopped {
            if let Some(index) = self.choose(asker.node) {
                return Some(self.take(index, asker.thread, fronts));
            }
            let victim = self.victim(asker, fronts)?;
            if let Some(begun) = fronts.close(victim) {
                self.claim(victim, begun);
            }
        }
        None
    }

    /// How fast the threads are, for one that does not know yet.
    pub fn pace(&self) -> Speed {
        self.pace
    }

    /// What is on the thread's own node comes first, then where most is left (kernel ktask: at
    /// random).
    fn choose(&self, node: Option<u32>) -> Option<usize> {
        let all = self.left.iter().enumerate();
        let best = all.min_by_key(|(_, left)| {
            let far = node.is_some() && left.part.node != node;
            (far, Reverse(length(&left.part.units)))
        });
        best.map(|(index, _)| index)
    }

    fn take(&mut self, index: usize, thread: usize, fronts: &impl Fronts) -> Taken {
        let end = self.chunk_end(&self.left[index]);
        let Part { node, units } = &mut self.left[index].part;
        let taken = Taken {
            units: units.start..end,
            node: *node,
        };
        units.start = end;
        if units.is_empty() {
            self.left.remove(index);
        }
        self.taken[thread] = Some(taken.clone());
        fronts.open(thread);
        taken
    }

    /// Of what was claimed a thread takes half, and leaves the rest to whoever comes next: so the
    /// last units are shared out in ever smaller parts.
    fn chunk_end(&self, left: &Left) -> u64 {
        let Range { start: at, end } = left.part.units;
        // Up to a multiple, so that the later ones are in line (padata).
        let kernel = self.chunk - at % self.chunk;
        let units = match (left.claimed, self.chunks) {
            (true, _) => (end - at).div_ceil(2),
            (false, Chunks::Kernel) => kernel,
            (false, Chunks::Adaptive) => self.pace.chunk().min(kernel),
        };
        self.cut.after(at, units, end)
    }

    /// The thread of whose chunk most has not begun. For a helper it must be worth it: what it
    /// begins the caller may have to wait for.
    fn victim(&self, asker: Asker, fronts: &impl Fronts) -> Option<usize> {
        let worth = match asker.thread {
            0 => 1,
            _ => self.pace.chunk(),
        };
        let rest = |(thread, taken): (usize, &Option<Taken>)| {
            let begun = fronts.load(thread).begun()?;
            Some((
                length(&taken.as_ref()?.units).saturating_sub(begun),
                Reverse(thread),
            ))
        };
        let most = self.taken.iter().enumerate().filter_map(rest).max();
        most.filter(|(rest, _)| *rest >= worth)
            .map(|(_, Reverse(thread))| thread)
    }

    /// What `victim` has not begun belongs to nobody again.
    fn claim(&mut self, victim: usize, begun: u64) {
        let taken = self.taken[victim]
            .as_mut()
            .expect("an open front has a chunk");
        let at = taken.units.start + begun;
        let (node, rest) = (taken.node, at..taken.units.end);
        taken.units.end = at;
        if !rest.is_empty() {
            self.claims += 1;
            self.put_back(node, rest);
        }
    }

    fn put_back(&mut self, node: Option<u32>, units: Range<u64>) {
        self.left.push(Left {
            part: Part { node, units },
            claimed: true,
        });
    }

    /// A thread is done with its chunk: the first `units` of it are completed, no step is in flight
    /// and none failed. What is left of it, because the thread leaves, belongs to nobody again.
    pub fn settle(&mut self, thread: usize, units: u64) {
        let Some(Taken { units: chunk, node }) = self.settled(thread, units) else {
            return;
        };
        let rest = chunk.start + units..chunk.end;
        if !rest.is_empty() && !self.stopped {
            self.put_back(node, rest);
        }
    }

    /// A thread's step behind the first `units` of its chunk failed, or it has no chunk: nobody
    /// takes one any more. Both are said at once. Between two calls, another thread would be given
    /// what has failed.
    ///
    /// True for the first who says so, whose error it is; and whether it had a chunk.
    pub fn fail(&mut self, thread: usize, units: u64) -> (bool, bool) {
        let first = !core::mem::replace(&mut self.stopped, true);
        (first, self.settled(thread, units).is_some())
    }

    /// The first `units` of a thread's chunk are completed, and it has none now.
    fn settled(&mut self, thread: usize, units: u64) -> Option<Taken> {
        let taken = self.taken[thread].take()?;
        let at = taken.units.start;
        self.completed += units;
        if let Some(done) = &mut self.done {
            done.add(at..at + units);
        }
        Some(taken)
    }

    /// Units in all chunks and steps that were completed and [settled](Self::settle).
    pub fn completed(&self) -> u64 {
        self.completed
    }

    /// How often the rest of a chunk was taken from a thread that had not begun it.
    pub fn claims(&self) -> u64 {
        self.claims
    }

    /// What was completed, if that was kept.
    pub fn done(&self) -> Option<&Done> {
        self.done.as_ref()
    }
}

/// How a thread goes through its chunk, one step after the other.
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    cut: Cut,
    at: u64,
    begun: u64,
    units: u64,
}

impl Steps {
    /// Of this chunk.
    pub fn new(cut: Cut, taken: &Taken) -> Self {
        Steps {
            cut,
            at: taken.units.start,
            begun: 0,
            units: length(&taken.units),
        }
    }

    /// Units that were begun, and completed if no step is in flight.
    pub fn begun(&self) -> u64 {
        self.begun
    }

    /// The next step, from [`begun`](Self::begun) to this: what the front is to be
    /// [advanced](Front::advance) to. `None` at the end of the chunk.
    pub fn next(&self, pace: Speed) -> Option<u64> {
        let (from, end) = (self.at + self.begun, self.at + self.units);
        (from < end).then(|| self.cut.after(from, pace.step(), end) - self.at)
    }

    /// The front was advanced to this.
    pub fn begin(&mut self, to: u64) {
        self.begun = to;
    }
}
