//! Scenarios written in a test.

use cmwq_oracle::{Error, Scenario};
use serde_json::{Value, json};
use std::path::Path;

/// A scenario with items `a`, `b` (delayed `d`, rcu `r`), a thread `t`, and this main body.
pub(crate) fn scenario(main: &[&str]) -> Result<Scenario, Error> {
    with_bodies(main, &[], &[])
}

/// The same with a body for item `a` and one for thread `t`.
pub(crate) fn with_bodies(main: &[&str], a: &[&str], t: &[&str]) -> Result<Scenario, Error> {
    let item = |kind: &str, body: &[&str]| json!({"kind": kind, "body": body});
    let script = json!({
        "items": {
            "a": item("work", a),
            "b": item("work", &[]),
            "d": item("delayed_work", &[]),
            "r": item("rcu_work", &[]),
        },
        "threads": {"t": {"cpu": -1, "body": t}, "t2": {"cpu": 2, "body": []}},
        "main": main,
    });
    let text = line("test/own", &script).to_string();
    Scenario::parse(&text, Path::new("own.jsonl"), 1)
}

/// A line of a file of scenarios, as JSON.
pub(crate) fn line(id: &str, script: &Value) -> Value {
    json!({
        "id": id, "group": "states", "needs_kernel": "", "topology": "T4", "note": "", "wq": [],
        "script": script, "compare": ["returns"], "stable": true, "unstable_fields": [], "runs": 3,
        "observed": {
            "returns": {}, "counts": {}, "execution_order": [], "start_order": [],
            "peak_concurrency": 0, "max_overlap_of_one_item": {}, "same_worker": {},
            "executions": [], "kernel_messages": [], "trace": [],
        },
        "on_6_12": "same",
    })
}

/// One example of each operation in the list of the recorder, in its order.
pub(crate) const EVERY: &[&str] = &[
    "queue_work w a",
    "queue_work_on 1 w a",
    "queue_work_node 9 w a",
    "queue_work_node -1 w a",
    "queue_delayed_work w d 5",
    "queue_delayed_work_on 1 w d 5",
    "mod_delayed_work w d 5",
    "mod_delayed_work_on 2 w d 0",
    "queue_rcu_work w r",
    "flush_work a",
    "flush_delayed_work d",
    "flush_rcu_work r",
    "flush_workqueue w",
    "drain_workqueue w",
    "destroy_workqueue w",
    "cancel_work a",
    "cancel_work_sync a",
    "cancel_delayed_work d",
    "cancel_delayed_work_sync d",
    "disable_work a",
    "disable_work_sync a",
    "enable_work a",
    "disable_delayed_work d",
    "disable_delayed_work_sync d",
    "enable_delayed_work d",
    "enable_and_queue_work w a",
    "work_pending a",
    "delayed_work_pending d",
    "timer_pending d",
    "workqueue_congested 1 w",
    "workqueue_congested -1 w",
    "set_worker_desc two words",
    "work_busy a",
    "current_work",
    "alloc_workqueue w percpu,highpri,cpu_intensive,mem_reclaim,freezable,sysfs 0",
    "alloc_workqueue w unbound,power_efficient -3",
    "alloc_workqueue w ordered 1",
    "alloc_workqueue w bh 0",
    "alloc_workqueue w none 0",
    "create_workqueue w",
    "create_singlethread_workqueue w",
    "set_max_active w 4",
    "set_min_active w 4",
    "apply_attrs w",
    "apply_attrs w nice=-5 cpus=0-3,6 scope=bad strict=1 ordered=0",
    "freeze_begin",
    "freeze_busy",
    "thaw",
    "queue_work sys_dfl a",
    "reinit a",
    "set_func a 3",
    "free_self",
    "forget_self",
    "reuse_memory b a 2",
    "sleep 5",
    "spin 5",
    "wait g",
    "spin_wait g",
    "open g",
    "upto 3 queue_work w a",
    "only 2 queue_work w a",
    "repeat 65534 disable_work a",
    "until g queue_work w a",
    "in_timer current_work",
    "in_irq cancel_work a",
    "upto 3 in_timer repeat 2 only 1 sleep 5",
    "start t",
    "join t",
    "is_done t 30",
    "done_list t",
    "await_start a 1",
    "await_end a 2",
    "executions a",
    "running_now",
    "running_now n0_",
    "max_overlap a",
    "pin 0-1,3",
    "cpu",
    "node",
    "nice",
    "allowed",
    "comm",
    "is_rescuer",
    "workers kworker/2:",
    "write wq:w/max_active 5",
    "write global:cpumask f",
    "write param:power_efficient Y",
    "write cpu:1/online 0",
    "read wq:w/cpumask",
    "fail_thread_creation 1",
    "injected",
];
