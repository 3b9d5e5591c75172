//! Cache lines that CPUs share: who had one last, how far it has to come, and who waits for it.
//!
//! A line is where it was used last. Another CPU that writes it fetches it from there, which takes
//! a trip by [`Distance`]. While a line travels or is held, the next one waits, first come, first
//! served. A lock is a line that is held for longer. A CPU that only reads a line has a copy until
//! somebody writes again.
//!
//! A caller names the time at which it comes. Callers come in the order of their calls: one that
//! names a later time than the next caller keeps that one waiting all the same.

use cmwq_policy::{Nanos, Time};

use crate::topology::{Distance, Topology};

/// The time of a line's trip by [`Distance`], in nanoseconds.
pub type Trips = [Nanos; 5];

/// One of several [`Lines`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineId(u32);

/// What happened to a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineStats {
    /// How often it was written or fetched.
    pub accesses: u64,
    /// How often it came from another CPU.
    pub moves: u64,
    /// Nanoseconds in which it travelled.
    pub trip_ns: Nanos,
    /// Nanoseconds for which it was held.
    pub held_ns: Nanos,
    /// Nanoseconds for which CPUs waited until those before them were done, all added up.
    pub waited_ns: Nanos,
}

impl LineStats {
    /// Nanoseconds in which nobody else could have had the line.
    pub fn busy_ns(&self) -> Nanos {
        self.trip_ns + self.held_ns
    }

    /// What has happened since the line was like that.
    #[must_use]
    pub fn since(self, before: LineStats) -> LineStats {
        LineStats {
            accesses: self.accesses - before.accesses,
            moves: self.moves - before.moves,
            trip_ns: self.trip_ns - before.trip_ns,
            held_ns: self.held_ns - before.held_ns,
            waited_ns: self.waited_ns - before.waited_ns,
        }
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: LineStats) -> LineStats {
        LineStats {
            accesses: self.accesses + other.accesses,
            moves: self.moves + other.moves,
            trip_ns: self.trip_ns + other.trip_ns,
            held_ns: self.held_ns + other.held_ns,
            waited_ns: self.waited_ns + other.waited_ns,
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Line {
    /// The CPU that used it last.
    at: Option<usize>,
    /// When all who came so far are done with it.
    free_at: Time,
    /// From when to when nobody has it until then, in order: who has said that it comes is not
    /// there before.
    gaps: Vec<(Time, Time)>,
    /// How long it was held last.
    held: Nanos,
    /// Grows with each write.
    version: u64,
    /// By CPU: the version that it has a copy of. Empty until somebody reads.
    copies: Vec<u64>,
    stats: LineStats,
}

impl Line {
    /// Who comes at this time has it for so long: from when on. Nobody comes before `now`.
    fn reserve(&mut self, now: Time, at: Time, takes: Nanos) -> Time {
        self.gaps.retain(|&(_, ends)| ends > now);
        let fits = |&(begins, ends): &(Time, Time)| begins.max(at).after(takes) <= ends;
        if let Some(place) = self.gaps.iter().position(fits) {
            let (gap, ends) = self.gaps[place];
            let begins = gap.max(at);
            let rest = [(gap, begins), (begins.after(takes), ends)];
            let rest = rest.into_iter().filter(|(begins, ends)| begins < ends);
            self.gaps.splice(place..=place, rest);
            return begins;
        }
        let begins = self.free_at.max(at);
        if begins > self.free_at.max(now) {
            self.gaps.push((self.free_at, begins));
        }
        self.free_at = begins.after(takes);
        begins
    }
}

/// Lines of one machine.
#[derive(Clone, Debug)]
pub struct Lines {
    topology: Topology,
    trips: Trips,
    lines: Vec<Line>,
    now: Time,
}

impl Lines {
    /// No lines yet, on a machine of this shape.
    pub fn new(topology: Topology, trips: Trips) -> Lines {
        Lines {
            topology,
            trips,
            lines: Vec::new(),
            now: Time(0),
        }
    }

    /// Nobody comes for a line before this time any more.
    pub fn pass_to(&mut self, now: Time) {
        self.now = self.now.max(now);
    }

    /// A new line, which is nowhere: the first trip is free.
    pub fn add(&mut self) -> LineId {
        self.lines.push(Line::default());
        LineId(self.lines.len() as u32 - 1)
    }

    /// How long a line takes from one CPU to another, in nanoseconds.
    pub fn trip(&self, from: usize, to: usize) -> Nanos {
        self.trips[self.topology.distance(from, to) as usize]
    }

    /// The CPU comes for the line at this time, fetches it and `others` that are with it, one after
    /// the other, and holds it for so many nanoseconds. Returns how many pass until it is done.
    pub fn hold(&mut self, line: LineId, at: Time, cpu: usize, others: u32, held: Nanos) -> Nanos {
        let taken = self.fetch(line, at, cpu, others, held);
        let line = &mut self.lines[line.0 as usize];
        line.version += 1;
        if let Some(own) = line.copies.get_mut(cpu) {
            *own = line.version;
        }
        taken
    }

    /// The CPU writes the line, which takes it so many nanoseconds. As [`hold`](Self::hold).
    pub fn write(&mut self, line: LineId, at: Time, cpu: usize, held: Nanos) -> Nanos {
        self.hold(line, at, cpu, 0, held)
    }

    /// The CPU reads the line: nothing passes if it has a copy.
    pub fn read(&mut self, line: LineId, at: Time, cpu: usize) -> Nanos {
        let cpus = self.topology.len();
        let its = &mut self.lines[line.0 as usize];
        if its.copies.is_empty() {
            its.copies = vec![u64::MAX; cpus];
        }
        if its.at == Some(cpu) || its.copies[cpu] == its.version {
            return 0;
        }
        its.copies[cpu] = its.version;
        self.fetch(line, at, cpu, 0, 0)
    }

    /// The CPU comes for the line as for [`hold`](Self::hold), and takes its turn: it will have the
    /// line after so many nanoseconds. How long it holds it then is [told](Self::held) later, and
    /// until then presumed to be as long as the last time: so long.
    pub fn queue_for(&mut self, line: LineId, at: Time, cpu: usize, others: u32) -> (Nanos, Nanos) {
        let presumed = self.lines[line.0 as usize].held;
        let taken = self.hold(line, at, cpu, others, presumed);
        self.lines[line.0 as usize].stats.held_ns -= presumed;
        (taken - presumed, presumed)
    }

    /// A CPU that has the line by its turn holds it for so long, as was presumed or not.
    pub fn held(&mut self, line: LineId, held: Nanos, presumed: Nanos) {
        let line = &mut self.lines[line.0 as usize];
        line.stats.held_ns += held;
        line.held = held;
        line.free_at = Time((line.free_at.0 + held).saturating_sub(presumed));
    }

    fn fetch(&mut self, id: LineId, at: Time, cpu: usize, others: u32, held: Nanos) -> Nanos {
        let from = self.lines[id.0 as usize].at.filter(|&from| from != cpu);
        let trip = from.map_or(0, |from| self.trip(from, cpu));
        let trip = trip.saturating_mul(1 + Nanos::from(others));
        let line = &mut self.lines[id.0 as usize];
        let begins = line.reserve(self.now, at, trip + held);
        let ends = begins.after(trip + held);
        line.at = Some(cpu);
        line.stats = line.stats.plus(LineStats {
            accesses: 1,
            moves: from.is_some().into(),
            trip_ns: trip,
            held_ns: held,
            waited_ns: begins.since(at),
        });
        ends.since(at)
    }

    /// What happened to this line so far.
    pub fn stats(&self, line: LineId) -> LineStats {
        self.lines[line.0 as usize].stats
    }

    /// What happened to all lines together.
    pub fn all(&self) -> LineStats {
        let stats = self.lines.iter().map(|line| line.stats);
        stats.fold(LineStats::default(), LineStats::plus)
    }
}

/// Trips of 0 ns on the same CPU, and then as given, in nanoseconds: in a last-level cache (or
/// core), in a node, in the machine.
pub fn trips(cache: Nanos, node: Nanos, machine: Nanos) -> Trips {
    let mut trips = [0; 5];
    trips[Distance::Core as usize] = cache;
    trips[Distance::Llc as usize] = cache;
    trips[Distance::Node as usize] = node;
    trips[Distance::Machine as usize] = machine;
    trips
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 8 CPUs in caches of 2 and nodes of 4.
    fn one() -> (Lines, LineId) {
        let topology = Topology::regular("8", 8, 1, 2, 4);
        let mut lines = Lines::new(topology, trips(40, 100, 140));
        let line = lines.add();
        (lines, line)
    }

    #[test]
    fn who_has_it_alone_pays_for_no_trip() {
        let (mut lines, line) = one();
        let taken = [0, 10, 20].map(|at| lines.write(line, Time(at), 3, 6));
        assert_eq!(taken, [6, 6, 6]);
        let stats = lines.stats(line);
        assert_eq!((stats.accesses, stats.moves, stats.waited_ns), (3, 0, 0));
        assert_eq!(stats.busy_ns(), 18);
    }

    #[test]
    fn two_cpus_send_it_to_and_fro() {
        let (mut lines, line) = one();
        let taken = [0, 1, 0, 1].map(|cpu| {
            let at = Time(1000 * lines.stats(line).accesses);
            lines.write(line, at, cpu, 6)
        });
        assert_eq!(taken, [6, 46, 46, 46]);
        assert_eq!((lines.stats(line).moves, lines.all().trip_ns), (3, 120));
    }

    #[test]
    fn who_takes_its_turn_says_later_how_long_it_holds_the_line() {
        let (mut lines, line) = one();
        assert_eq!(lines.queue_for(line, Time(0), 0, 0), (0, 0));
        lines.held(line, 100, 0);
        assert_eq!(lines.queue_for(line, Time(50), 1, 0), (50 + 40, 100));
        assert_eq!(lines.queue_for(line, Time(60), 0, 0), (80 + 100 + 40, 100));
        // It was shorter: the next ones have it sooner.
        lines.held(line, 10, 100);
        lines.held(line, 20, 100);
        assert_eq!(lines.write(line, Time(200), 0, 5), 10 + 5);
        assert_eq!(lines.stats(line).held_ns, 100 + 10 + 20 + 5);
    }

    #[test]
    fn the_way_decides() {
        let from_first = [0, 1, 2, 4].map(|cpu| {
            let (mut lines, line) = one();
            lines.write(line, Time(0), 0, 0);
            lines.write(line, Time(500), cpu, 0)
        });
        assert_eq!(from_first, [0, 40, 100, 140]);
    }

    #[test]
    fn who_comes_later_waits_for_all_before() {
        let (mut lines, line) = one();
        assert_eq!(lines.write(line, Time(0), 0, 500), 500);
        assert_eq!(lines.write(line, Time(100), 1, 500), 400 + 40 + 500);
        assert_eq!(lines.write(line, Time(100), 0, 500), 940 + 40 + 500);
        assert_eq!(lines.stats(line).waited_ns, 400 + 940);
        assert_eq!(lines.write(line, Time(9_000), 0, 1), 1, "nobody is there");
    }

    #[test]
    fn who_is_known_to_come_later_is_in_nobodys_way_before() {
        let (mut lines, line) = one();
        assert_eq!(lines.write(line, Time(10_000), 0, 20), 20);
        assert_eq!(lines.write(line, Time(100), 1, 5), 40 + 5);
        assert_eq!(lines.write(line, Time(100), 1, 5), 45 + 5);
        assert_eq!(
            lines.write(line, Time(9_990), 1, 15),
            10 + 20 + 15,
            "no room before"
        );
        lines.pass_to(Time(20_000));
        assert_eq!(lines.write(line, Time(20_000), 1, 5), 5);
    }

    #[test]
    fn other_lines_come_along_and_wait_for_nobody_else() {
        let (mut lines, line) = one();
        let other = lines.add();
        lines.hold(line, Time(0), 0, 2, 10);
        assert_eq!(lines.hold(line, Time(100), 1, 2, 10), 3 * 40 + 10);
        assert_eq!(lines.write(other, Time(100), 1, 10), 10);
    }

    #[test]
    fn a_copy_is_good_until_somebody_writes() {
        let (mut lines, line) = one();
        lines.write(line, Time(0), 0, 6);
        assert_eq!(
            [1, 2, 3].map(|at| lines.read(line, Time(at * 100), 1)),
            [40, 0, 0]
        );
        assert_eq!(
            lines.write(line, Time(400), 0, 6),
            46,
            "the copy is recalled"
        );
        assert_eq!(lines.read(line, Time(500), 1), 40);
        assert_eq!(lines.read(line, Time(600), 0), 0, "its own");
    }
}
