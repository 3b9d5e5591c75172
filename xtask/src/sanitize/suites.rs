//! Which tests run under which tool.
//!
//! Under miri the lists name single tests: most integration tests repeat what they do thousands of
//! times, or look at processes, which it has none of. A name that is no longer there fails the run.

/// Tests of one binary.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Suite {
    pub(super) name: &'static str,
    package: &'static str,
    /// What of the package: arguments of cargo.
    of: &'static [&'static str],
    /// These tests, by their full names; all if there are none.
    pub(super) only: &'static [&'static str],
    /// Not those whose names hold one of these.
    skip: &'static [&'static str],
}

impl Suite {
    /// Whether it tests the rules alone, without threads.
    pub(super) fn is_of_rules(&self) -> bool {
        self.package == "cmwq-policy"
    }

    /// A file of the runtime's integration tests, whole.
    const fn whole(name: &'static str, of: &'static [&'static str]) -> Suite {
        Suite::some(name, of, &[])
    }

    /// Tests of a file of the runtime's integration tests.
    const fn some(
        name: &'static str,
        of: &'static [&'static str],
        only: &'static [&'static str],
    ) -> Suite {
        Suite {
            name,
            package: "cmwq",
            of,
            only,
            skip: &[],
        }
    }

    /// The arguments after `cargo test`.
    pub(super) fn args(&self) -> Vec<&'static str> {
        let mut args = vec!["--package", self.package];
        args.extend(self.of);
        args.push("--");
        if !self.only.is_empty() {
            args.push("--exact");
        }
        args.extend(self.only);
        args.extend(self.skip.iter().flat_map(|name| ["--skip", name]));
        args
    }
}

/// The core has no `unsafe`, so what miri could find in it is little; the tests that play whole
/// pools through take it more than an hour. It is interpreted with the runtime's tests anyway.
pub(super) const MIRI: &[Suite] = &[
    Suite {
        name: "policy",
        package: "cmwq-policy",
        of: &["--lib"],
        only: &[],
        skip: &["pool::tests", "properties"],
    },
    Suite {
        name: "raw",
        package: "cmwq-engine",
        of: &["--test", "raw"],
        only: &[],
        // It gives one function several addresses.
        skip: &["told_apart_by_name"],
    },
    Suite::whole("small", &["--test", "small"]),
    Suite::whole("contract", &["--test", "small_contract"]),
    Suite::some(
        "items",
        &["--test", "items"],
        &[
            "queueing_a_pending_item_changes_nothing",
            "items_of_any_queue_begin_in_order",
            "a_panic_leaves_worker_and_item_usable",
            "a_panic_while_something_is_dropped_leaves_the_worker_usable",
            "an_item_may_drop_its_own_last_handle",
        ],
    ),
    Suite::some(
        "join",
        &["--test", "join"],
        &[
            "a_panic_comes_back_as_an_error_with_its_payload",
            "is_finished_says_whether_join_would_wait",
            "a_handle_may_be_joined_by_another_thread_or_item",
        ],
    ),
    Suite::some(
        "handle",
        &["--test", "handle"],
        &[
            "values_and_panics_can_be_awaited",
            "only_the_last_waker_is_called_and_once",
            "a_handle_dropped_while_awaited_leaves_no_waker_and_the_closure_runs",
            "wakers_may_panic",
            "what_has_not_begun_can_be_cancelled",
            "a_value_is_given_once",
        ],
    ),
    Suite::some(
        "map",
        &["--test", "map"],
        &[
            "results_come_in_the_order_of_the_inputs",
            "who_stops_early_cancels_what_has_not_begun",
            "what_is_mapped_in_a_scope_may_borrow",
            "the_first_of_many_handles_is_found",
        ],
    ),
    Suite::some(
        "flush",
        &["--test", "flush"],
        &[
            "a_flush_of_an_empty_queue_returns",
            "a_flush_of_the_own_queue_is_refused",
        ],
    ),
    Suite::some(
        "scope",
        &["--test", "scope"],
        &[
            "joined_values_may_borrow",
            "a_scope_waits_also_when_its_body_panics",
            "a_panic_that_nobody_joined_is_the_scopes",
            "a_scope_on_a_busy_queue_waits_for_its_own_items_only",
            "what_a_values_destructor_spawns_is_over_when_the_scope_returns",
            "what_a_dropped_closure_spawns_is_dropped_too",
            "a_scope_that_gave_up_is_a_waiter_to_others",
        ],
    ),
    Suite::some(
        "jobs",
        &["--test", "jobs"],
        &[
            "cover::an_empty_job_calls_nobody",
            "cover::the_range_need_not_begin_at_nothing",
            "cover::elements_of_a_slice",
            "ends::cancelled_before_it_began",
            "ends::helpers_that_have_not_begun_are_taken_back",
        ],
    ),
    Suite::some(
        "async",
        &["--test", "async_domain"],
        &[
            "cookies_go_up",
            "waiting_goes_by_the_order_of_scheduling",
            "a_call_that_panics_has_ended",
        ],
    ),
];

/// Not those that fork, exec, deny system calls or count switches: the tool has a thread of its own
/// and does not follow a child.
pub(super) const TSAN: &[Suite] = &[
    Suite {
        name: "raw",
        package: "cmwq-engine",
        of: &["--test", "raw"],
        only: &[],
        skip: &[],
    },
    Suite::whole("small", &["--test", "small"]),
    Suite::whole("contract", &["--test", "small_contract"]),
    Suite::whole("items", &["--test", "items"]),
    Suite::whole("join", &["--test", "join"]),
    Suite::whole("handle", &["--test", "handle"]),
    Suite {
        name: "map",
        package: "cmwq",
        of: &["--test", "map"],
        only: &[],
        skip: &["child"],
    },
    Suite::whole("flush", &["--test", "flush"]),
    Suite::whole("scope", &["--test", "scope"]),
    Suite::whole("limits", &["--test", "limits"]),
    Suite::whole("deadlock", &["--test", "deadlock"]),
    Suite {
        name: "items_contract",
        package: "cmwq",
        of: &["--test", "items_contract"],
        only: &[],
        skip: &["nobody_wakes"],
    },
    Suite {
        name: "stress",
        package: "cmwq-soak",
        of: &["--test", "items"],
        only: &[],
        skip: &[],
    },
    Suite {
        name: "jobs",
        package: "cmwq",
        of: &["--test", "jobs"],
        only: &[],
        skip: &["fork"],
    },
    Suite {
        name: "async",
        package: "cmwq",
        of: &["--test", "async_domain"],
        only: &[],
        skip: &["fork", "shutdown"],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_exact_and_what_is_skipped_is_not() {
        let suite = Suite {
            name: "x",
            package: "p",
            of: &["--lib"],
            only: &["a", "b"],
            skip: &["c"],
        };
        let args = [
            "--package",
            "p",
            "--lib",
            "--",
            "--exact",
            "a",
            "b",
            "--skip",
            "c",
        ];
        assert_eq!(suite.args(), args);
        assert!(!Suite::whole("y", &["--doc"]).args().contains(&"--exact"));
    }
}
