//! Acts as a flat list with jumps, which a program can be in the middle of.

use super::acts::Step;

/// What an item or a thread does.
#[derive(Debug, Default)]
pub(crate) struct Code {
    pub(crate) ops: Vec<Op>,
    /// How many loops it has: each counts for itself.
    pub(crate) loops: usize,
}

/// One act, or where it goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// An act that holds no others.
    Do(Step),
    /// Goes on there.
    Jump(usize),
    /// A loop begins, which is run through so many times.
    Begin { slot: usize, times: u64 },
    /// Goes on there, unless that was the last time.
    Again { slot: usize, target: usize },
    /// With this probability in a million goes on here, else there.
    Unless { share: u32, target: usize },
    /// Goes on there if the request has come by here so many times already.
    AtMost {
        slot: usize,
        times: u64,
        target: usize,
    },
}

impl Code {
    /// Flattens; `limits` counts the scenario's limits by request.
    pub(crate) fn of(steps: &[Step], limits: &mut usize) -> Code {
        let mut code = Code::default();
        code.add_all(steps, limits);
        code
    }

    fn add_all(&mut self, steps: &[Step], limits: &mut usize) {
        steps.iter().for_each(|step| self.add(step, limits));
    }

    fn add(&mut self, step: &Step, limits: &mut usize) {
        match step {
            Step::Repeat(None, does) => {
                let start = self.ops.len();
                self.add_all(does, limits);
                self.ops.push(Op::Jump(start));
            }
            Step::Repeat(Some(times), does) => {
                let slot = self.loops;
                self.loops += 1;
                self.ops.push(Op::Begin {
                    slot,
                    times: *times,
                });
                let target = self.ops.len();
                self.add_all(does, limits);
                self.ops.push(Op::Again { slot, target });
            }
            Step::Choose(share, does, other) => {
                let test = self.placeholder();
                self.add_all(does, limits);
                let leave = self.placeholder();
                let target = self.ops.len();
                self.ops[test] = Op::Unless {
                    share: *share,
                    target,
                };
                self.add_all(other, limits);
                self.ops[leave] = Op::Jump(self.ops.len());
            }
            Step::AtMost(times, does) => {
                let slot = *limits;
                *limits += 1;
                let test = self.placeholder();
                self.add_all(does, limits);
                let target = self.ops.len();
                self.ops[test] = Op::AtMost {
                    slot,
                    times: *times,
                    target,
                };
            }
            step => self.ops.push(Op::Do(step.clone())),
        }
    }

    /// Room for a jump whose target is not known yet.
    fn placeholder(&mut self) -> usize {
        self.ops.push(Op::Jump(0));
        self.ops.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_others_becomes_jumps() {
        let act = |n| Step::Count(n, 1);
        let steps = [
            Step::Repeat(
                Some(3),
                vec![Step::Choose(250_000, vec![act(0)], vec![act(1)])],
            ),
            Step::AtMost(2, vec![act(2)]),
            Step::Repeat(None, vec![act(3)]),
        ];
        let mut limits = 4;
        let code = Code::of(&steps, &mut limits);
        let expected = [
            Op::Begin { slot: 0, times: 3 },
            Op::Unless {
                share: 250_000,
                target: 4,
            },
            Op::Do(act(0)),
            Op::Jump(5),
            Op::Do(act(1)),
            Op::Again { slot: 0, target: 1 },
            Op::AtMost {
                slot: 4,
                times: 2,
                target: 8,
            },
            Op::Do(act(2)),
            Op::Do(act(3)),
            Op::Jump(8),
        ];
        assert_eq!(code.ops, expected);
        assert_eq!((code.loops, limits), (1, 5));
    }
}
