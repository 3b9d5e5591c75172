//! Asynchronous calls in order (kernel `kernel/async.c`). Calls run in any order, and are waited
//! for in the order in which they were scheduled.
//!
//! Each call gets a *cookie*, the next number; all domains share the numbers. To synchronise on a
//! cookie is to wait until no call with a lower one is pending, in one domain or in all domains
//! that are not exclusive. A call is pending until it has ended. So a call that ends out of order
//! releases nobody.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

/// Number of a call (kernel `async_cookie_t`); from 1 on.
pub type Cookie = u64;

/// Higher than all cookies (kernel `ASYNC_COOKIE_MAX`): to synchronise on it is to wait until
/// nothing is pending.
pub const COOKIE_MAX: Cookie = Cookie::MAX;

/// Number of a domain.
pub type DomainId = u64;

/// Number of somebody who waits.
pub type WaiterId = u64;

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Calls of this domain.
    Domain(DomainId),
    /// Calls of all domains but the exclusive ones (kernel: `registered`).
    All,
}

/// Whom a call belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Domain {
    /// Its number.
    pub id: DomainId,
    /// Its calls are not waited for where all are (kernel `ASYNC_DOMAIN_EXCLUSIVE`).
    pub exclusive: bool,
}

impl Domain {
    /// The domain of whoever needs no other (kernel `async_dfl_domain`). Other domains have other
    /// numbers than 0.
    pub const COMMON: Domain = Domain {
        id: 0,
        exclusive: false,
    };
}

/// All calls that are pending, and who waits.
#[derive(Debug, Default)]
pub struct AsyncCalls {
    last: Cookie,
    last_waiter: WaiterId,
    all: Pending,
    domains: BTreeMap<DomainId, Pending>,
}

#[derive(Debug, Default)]
struct Pending {
    calls: BTreeSet<Cookie>,
    waiters: BTreeSet<(Cookie, WaiterId)>,
}

impl Pending {
    /// Kernel `lowest_in_progress`.
    fn lowest(&self) -> Cookie {
        self.calls.first().copied().unwrap_or(COOKIE_MAX)
    }

    fn end(&mut self, cookie: Cookie, released: &mut Vec<WaiterId>) {
        self.calls.remove(&cookie);
        let lowest = self.lowest();
        while let Some(&(awaited, waiter)) = self.waiters.first().filter(|first| first.0 <= lowest)
        {
            self.waiters.remove(&(awaited, waiter));
            released.push(waiter);
        }
    }
}

impl AsyncCalls {
    /// A call is scheduled: its cookie. Queue it in the same order.
    pub fn schedule(&mut self, domain: Domain) -> Cookie {
        self.last += 1;
        self.domains
            .entry(domain.id)
            .or_default()
            .calls
            .insert(self.last);
        if !domain.exclusive {
            self.all.calls.insert(self.last);
        }
        self.last
    }

    /// A call has ended: who need not wait any more, the lowest cookies first.
    pub fn end(&mut self, domain: Domain, cookie: Cookie) -> Vec<WaiterId> {
        let mut released = Vec::new();
        if let Some(pending) = self.domains.get_mut(&domain.id) {
            pending.end(cookie, &mut released);
            if pending.calls.is_empty() {
                self.domains.remove(&domain.id);
            }
        }
        if !domain.exclusive {
            self.all.end(cookie, &mut released);
        }
        released
    }

    /// Somebody waits until no call with a lower cookie is pending; `None`: none is.
    pub fn wait(&mut self, scope: Scope, cookie: Cookie) -> Option<WaiterId> {
        let pending = match scope {
            Scope::All => &mut self.all,
            Scope::Domain(id) => self.domains.get_mut(&id)?,
        };
        if pending.lowest() >= cookie {
            return None;
        }
        self.last_waiter += 1;
        pending.waiters.insert((cookie, self.last_waiter));
        Some(self.last_waiter)
    }

    /// Somebody waits no more, who was not released.
    pub fn give_up(&mut self, scope: Scope, cookie: Cookie, waiter: WaiterId) {
        let pending = match scope {
            Scope::All => Some(&mut self.all),
            Scope::Domain(id) => self.domains.get_mut(&id),
        };
        if let Some(pending) = pending {
            pending.waiters.remove(&(cookie, waiter));
        }
    }

    /// The pending calls that such a wait is for.
    pub fn awaited(&self, scope: Scope, cookie: Cookie) -> impl Iterator<Item = Cookie> + '_ {
        let pending = match scope {
            Scope::All => Some(&self.all),
            Scope::Domain(id) => self.domains.get(&id),
        };
        let calls = pending.into_iter().flat_map(|pending| &pending.calls);
        calls.copied().take_while(move |call| *call < cookie)
    }

    /// Calls that are pending.
    pub fn pending(&self, scope: Scope) -> usize {
        match scope {
            Scope::All => self.all.calls.len(),
            Scope::Domain(id) => self
                .domains
                .get(&id)
                .map_or(0, |pending| pending.calls.len()),
        }
    }
}

/// Whether a call that is executed waits for its own end when it synchronises on `awaited`: it
/// never would be.
pub fn waits_for_itself(own: (Domain, Cookie), scope: Scope, awaited: Cookie) -> bool {
    let (domain, cookie) = own;
    let seen = match scope {
        Scope::Domain(id) => id == domain.id,
        Scope::All => !domain.exclusive,
    };
    seen && cookie < awaited
}

/// Whether such a wait is for calls of its own domain that were scheduled before this one. Whoever
/// waits for this one waits for those as well: it closes no circle that is not closed without it.
pub fn waits_in_order(own: (Domain, Cookie), scope: Scope, awaited: Cookie) -> bool {
    let (domain, cookie) = own;
    scope == Scope::Domain(domain.id) && awaited <= cookie
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    /// What the words above say, done the slow way.
    #[derive(Default)]
    struct Model {
        calls: Vec<(Domain, Cookie)>,
        waits: Vec<(WaiterId, Scope, Cookie)>,
    }

    impl Model {
        fn is_over(&self, scope: Scope, cookie: Cookie) -> bool {
            let seen = |domain: Domain| match scope {
                Scope::Domain(id) => domain.id == id,
                Scope::All => !domain.exclusive,
            };
            !self
                .calls
                .iter()
                .any(|&(domain, call)| seen(domain) && call < cookie)
        }

        fn released(&mut self) -> Vec<WaiterId> {
            let (over, waits) = self
                .waits
                .iter()
                .partition(|wait| self.is_over(wait.1, wait.2));
            self.waits = waits;
            let over: Vec<(WaiterId, Scope, Cookie)> = over;
            over.into_iter().map(|wait| wait.0).collect()
        }
    }

    #[derive(Clone, Debug)]
    enum Op {
        Schedule(u64),
        End(usize),
        /// A domain or all, and which cookie, from the last one backwards; 0: all.
        Wait(Option<u64>, u64),
        GiveUp(usize),
    }

    /// The last one is exclusive.
    fn domain(id: u64) -> Domain {
        Domain {
            id,
            exclusive: id == 2,
        }
    }

    fn ops() -> impl Strategy<Value = Vec<Op>> {
        let op = prop_oneof![
            4 => (0u64..3).prop_map(Op::Schedule),
            3 => any::<usize>().prop_map(Op::End),
            3 => (proptest::option::of(0u64..3), 0u64..20).prop_map(|(of, back)| Op::Wait(of, back)),
            1 => any::<usize>().prop_map(Op::GiveUp),
        ];
        proptest::collection::vec(op, 0..150)
    }

    proptest! {
        #[test]
        fn as_the_model_says(ops in ops()) {
            let (mut calls, mut model, mut last) = (AsyncCalls::default(), Model::default(), 0);
            for op in ops {
                match op {
                    Op::Schedule(id) => {
                        let cookie = calls.schedule(domain(id));
                        prop_assert_eq!(cookie, last + 1);
                        last = cookie;
                        model.calls.push((domain(id), cookie));
                    }
                    Op::End(which) if !model.calls.is_empty() => {
                        let (domain, cookie) = model.calls.remove(which % model.calls.len());
                        let mut released = calls.end(domain, cookie);
                        released.sort_unstable();
                        prop_assert_eq!(released, model.released());
                    }
                    Op::Wait(of, back) => {
                        let scope = of.map_or(Scope::All, Scope::Domain);
                        let cookie = if back == 0 { COOKIE_MAX } else { (last + 2).saturating_sub(back) };
                        let over = model.is_over(scope, cookie);
                        let waiter = calls.wait(scope, cookie);
                        prop_assert_eq!(waiter.is_none(), over);
                        model.waits.extend(waiter.map(|waiter| (waiter, scope, cookie)));
                    }
                    Op::GiveUp(which) if !model.waits.is_empty() => {
                        let (waiter, scope, cookie) = model.waits.remove(which % model.waits.len());
                        calls.give_up(scope, cookie, waiter);
                    }
                    Op::End(_) | Op::GiveUp(_) => {}
                }
                let of = |id| model.calls.iter().filter(|call| call.0.id == id).count();
                prop_assert!((0..3).all(|id| calls.pending(Scope::Domain(id)) == of(id)));
                prop_assert_eq!(calls.pending(Scope::All), of(0) + of(1));
            }
        }
    }

    #[test]
    fn who_waits_sees_the_order_of_scheduling() {
        let mut calls = AsyncCalls::default();
        let cookies = [(); 3].map(|()| calls.schedule(domain(0)));
        let waiter = calls.wait(Scope::Domain(0), cookies[2]).unwrap();
        // The second one ends first.
        assert_eq!(calls.end(domain(0), cookies[1]), []);
        assert_eq!(calls.end(domain(0), cookies[0]), vec![waiter]);
        assert_eq!(calls.wait(Scope::Domain(0), cookies[2]), None);
    }

    #[test]
    fn a_call_may_wait_for_those_before_it() {
        let own = (domain(1), 7);
        assert!(!waits_for_itself(own, Scope::Domain(1), 7));
        assert!(waits_for_itself(own, Scope::Domain(1), 8));
        assert!(waits_for_itself(own, Scope::All, COOKIE_MAX));
        assert!(!waits_for_itself(own, Scope::Domain(0), COOKIE_MAX));
        assert!(!waits_for_itself((domain(2), 7), Scope::All, COOKIE_MAX));
    }

    #[test]
    fn only_those_before_it_in_its_domain_are_in_order() {
        let own = (domain(1), 7);
        assert!(waits_in_order(own, Scope::Domain(1), 7));
        for (scope, cookie) in [
            (Scope::Domain(1), 8),
            (Scope::Domain(0), 3),
            (Scope::All, 3),
        ] {
            assert!(!waits_in_order(own, scope, cookie), "{scope:?} {cookie}");
        }
    }

    #[test]
    fn a_wait_is_for_the_pending_calls_below_its_cookie() {
        let mut calls = AsyncCalls::default();
        let domains = [domain(1), domain(2), domain(1), domain(1)];
        let cookies = domains.map(|domain| calls.schedule(domain));
        let awaited = |calls: &AsyncCalls, scope| -> Vec<Cookie> {
            calls.awaited(scope, cookies[3]).collect()
        };
        let of_one = Scope::Domain(1);
        assert_eq!(awaited(&calls, of_one), [cookies[0], cookies[2]]);
        calls.end(domains[0], cookies[0]);
        assert_eq!(awaited(&calls, of_one), [cookies[2]]);
        assert_eq!(awaited(&calls, Scope::Domain(3)), []);
    }
}
