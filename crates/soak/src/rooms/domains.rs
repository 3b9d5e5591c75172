//! Asynchronous calls that panic, wait for each other, and schedule others when something of theirs
//! is dropped.

use std::panic::panic_any;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

use cmwq::AsyncDomain;

use super::Player;
use crate::books::{self, Part, Ticket};
use crate::rng::Rng;
use crate::value::{self, Value, quietly};

/// Schedules another call when it is dropped.
struct Again(AsyncDomain, Arc<Ticket>);

impl Drop for Again {
    fn drop(&mut self) {
        let ticket = self.1.clone();
        self.0.schedule(move |_| ticket.runs());
    }
}

pub(super) fn play(player: &mut Player) {
    let rng = &mut player.rng.clone();
    player.rng.next();
    let domain = match rng.below(3) {
        0 => AsyncDomain::new(),
        1 => AsyncDomain::exclusive(),
        _ => AsyncDomain::global(),
    };
    player.does(&format!("calls of {domain:?}"));
    let (begun, ended) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let calls = 1 + rng.below(12);
    for _ in 0..calls {
        schedule(rng, &domain, &begun, &ended);
    }
    let waited = match rng.below(3) {
        0 => return,
        1 => quietly(|| domain.synchronize_full()),
        _ => quietly(AsyncDomain::synchronize_all),
    };
    if !matches!(waited, Some(Ok(()))) {
        return;
    }
    // Not those that panic.
    let (begun, ended) = (begun.load(SeqCst), ended.load(SeqCst));
    if begun != calls as u64 || ended != begun {
        let exclusive = format!("{domain:?}").contains("exclusive: true");
        if !exclusive {
            books::fail(&format!(
                "{begun} of {calls} calls begun, {ended} ended after a wait"
            ));
        }
    }
}

fn schedule(rng: &mut Rng, domain: &AsyncDomain, begun: &Arc<AtomicU64>, ended: &Arc<AtomicU64>) {
    let (begun, ended, own) = (begun.clone(), ended.clone(), domain.clone());
    let (ticket, act) = (Ticket::new("a call"), rng.below(6));
    let captured = Value::new(&ticket, Part::Captured, value::mood(rng), 0);
    let mood = value::mood(rng);
    domain.schedule(move |cookie| {
        begun.fetch_add(1, SeqCst);
        ticket.runs();
        match act {
            0 => drop(own.synchronize_cookie(cookie)),
            1 => drop(Again(own, Ticket::new("a call by a drop"))),
            2 => std::thread::sleep(std::time::Duration::from_micros(200)),
            _ => {}
        }
        quietly(|| drop(captured));
        ended.fetch_add(1, SeqCst);
        if act == 3 {
            panic_any(Value::new(&ticket, Part::Payload, mood, 0));
        }
    });
}
