//! Of the layout and of what it says of queues.

use super::*;
use proptest::prelude::*;
use std::string::ToString;
use std::vec;

/// CPUs of a core, a cache and a node follow each other.
fn regular(cpus: u32, core: u32, llc: u32, node: u32) -> Layout {
    let place = |cpu: u32| Place::new(cpu / core, cpu / llc, cpu / node);
    Layout::new((0..cpus).map(place).collect())
}

fn attrs() -> Attrs {
    Attrs::default()
}

fn shards(layout: &Layout) -> Vec<std::string::String> {
    let mut all: Vec<_> = (0..layout.places.len())
        .map(|cpu| layout.pod(Scope::CacheShard, cpu).to_string())
        .collect();
    all.dedup();
    all
}

#[test]
fn pods_are_what_the_scope_says() {
    let t8 = regular(8, 2, 4, 4);
    let pods = Scope::ALL.map(|scope| t8.pod(scope, 5).to_string());
    assert_eq!(pods, ["5", "4-5", "4-7", "4-7", "4-7", "0-7"]);
    let t16 = regular(16, 1, 4, 8);
    let pods = Scope::ALL.map(|scope| t16.pod(scope, 5).to_string());
    assert_eq!(pods, ["5", "5", "4-7", "4-7", "0-7", "0-15"]);
}

/// The recorded answers of a kernel 7.3.
#[test]
fn caches_are_cut_into_shards_of_about_eight_cores() {
    assert_eq!(shards(&regular(12, 1, 12, 12)), ["0-5", "6-11"]);
    assert_eq!(shards(&regular(20, 1, 20, 20)), ["0-6", "7-13", "14-19"]);
    assert_eq!(shards(&regular(24, 2, 24, 24)), ["0-11", "12-23"]);
    assert_eq!(shards(&regular(11, 1, 11, 11)), ["0-10"]);
    assert_eq!(shards(&regular(72, 1, 72, 72)).len(), 9);
    let pairs = regular(16, 1, 4, 8).with_shards_of(2);
    assert_eq!(shards(&pairs).len(), 8);
    assert_eq!(shards(&regular(4, 1, 4, 4).with_shards_of(0)).len(), 4);
}

#[test]
fn siblings_that_are_numbered_apart_stay_in_one_shard() {
    let place = |cpu: u32| Place::new(cpu % 12, 0, 0);
    let layout = Layout::new((0..24).map(place).collect());
    assert_eq!(layout.pod(Scope::CacheShard, 13).to_string(), "0-5,12-17");
}

#[test]
fn a_strict_queue_stays_in_its_pod_and_others_start_there() {
    let t8 = regular(8, 2, 4, 4);
    let loose = Attrs {
        scope: Some(Scope::Cache),
        ..attrs()
    };
    let strict = Attrs {
        strict: true,
        ..loose
    };
    let reach = |attrs| t8.reach(Kind::Unmanaged, attrs, Spread::No, 6);
    assert_eq!(reach(&loose).pod.to_string(), "4-7");
    assert_eq!(reach(&loose).allowed.to_string(), "0-7");
    assert_eq!(reach(&strict).allowed.to_string(), "4-7");
}

#[test]
fn a_pod_without_a_cpu_in_use_leaves_the_whole_mask() {
    let mut t8 = regular(8, 2, 4, 4);
    let attrs = Attrs {
        scope: Some(Scope::Smt),
        strict: true,
        cpumask: Some((1..6).collect()),
        ..attrs()
    };
    let allowed = |t8: &Layout, cpu| {
        t8.reach(Kind::Unmanaged, &attrs, Spread::No, cpu)
            .allowed
            .to_string()
    };
    assert_eq!(allowed(&t8, 0), "1");
    assert_eq!(allowed(&t8, 7), "1-5", "its pod is not in the mask");
    t8.set_online(1, false);
    assert_eq!(allowed(&t8, 0), "1-5");
    t8.set_online(1, true);
    assert_eq!(allowed(&t8, 0), "1");
}

#[test]
fn the_mask_of_all_queues_wins_over_one_of_which_it_leaves_nothing() {
    let mut t4 = regular(4, 1, 4, 4);
    assert!(t4.set_unbound([2, 3].into_iter().collect()));
    let own = Attrs {
        cpumask: Some([0, 1].into_iter().collect()),
        ..attrs()
    };
    assert_eq!(t4.effective(&own).to_string(), "2-3");
    assert!(!t4.set_unbound(CpuMask::EMPTY));
    assert!(!t4.set_unbound([9].into_iter().collect()));
    assert_eq!(t4.unbound().to_string(), "2-3");
}

/// The recorded answers of a kernel 7.3 on two nodes: per node, with min_active min(max, 8).
#[test]
fn a_limit_is_shared_by_nodes_as_their_cpus_are() {
    let mut t8 = regular(8, 2, 4, 4);
    let share = |t8: &Layout, attrs: &Attrs, max: u32| {
        [0, 1].map(|node| t8.share(attrs, Some(node), max, max.min(8)))
    };
    for (max, each) in [(1, 1), (4, 4), (8, 8), (16, 8), (17, 9), (32, 16)] {
        assert_eq!(share(&t8, &attrs(), max), [each, each], "max_active {max}");
    }
    let most_of_one = Attrs {
        cpumask: Some((0..5).collect()),
        ..attrs()
    };
    assert_eq!(share(&t8, &most_of_one, 16), [13, 8]);
    t8.set_online(6, false);
    t8.set_online(7, false);
    assert_eq!(share(&t8, &attrs(), 32), [22, 11]);
    assert_eq!(t8.share(&attrs(), None, 32, 8), 32);
}

/// Its items run elsewhere then, and may wait for each other.
#[test]
fn a_queue_of_which_no_cpu_is_in_use_keeps_its_limit() {
    let mut t4 = regular(4, 1, 4, 4);
    t4.set_unbound([3].into_iter().collect());
    t4.set_online(3, false);
    assert_eq!(t4.share(&attrs(), Some(0), 26, 8), 26);
    let mut t8 = regular(8, 2, 4, 4);
    let of_one_node = Attrs {
        cpumask: Some([6, 7].into_iter().collect()),
        ..attrs()
    };
    [6, 7].into_iter().for_each(|cpu| t8.set_online(cpu, false));
    let shares = [0, 1].map(|node| t8.share(&of_one_node, Some(node), 26, 8));
    assert_eq!(shares, [8, 26]);
}

#[test]
fn who_queues_from_a_cpu_that_queues_may_not_use_goes_round() {
    let mut t4 = regular(4, 1, 4, 4);
    assert_eq!(t4.choose_cpu(0), 0);
    t4.set_unbound([1, 2, 3].into_iter().collect());
    let chosen: Vec<usize> = (0..4).map(|_| t4.choose_cpu(0)).collect();
    assert_eq!(chosen, [1, 2, 3, 1]);
    assert_eq!(t4.choose_cpu(2), 2);
}

#[test]
fn scopes_have_the_names_of_the_kernel() {
    for scope in Scope::ALL {
        assert_eq!(Scope::parse(scope.name()), Some(scope));
    }
    assert_eq!(Scope::parse("default"), None);
}

proptest! {
    /// Whatever the machine: pods of a scope cut it into parts, and wider scopes have wider pods.
    #[test]
    fn pods_part_the_machine(
        cores in prop::collection::vec((0u32..4, 1u32..4), 1..24),
        shard in 1u32..12,
    ) {
        let mut places = vec![];
        for (core, &(llc, threads)) in cores.iter().enumerate() {
            let place = Place::new(core as u32, llc, llc / 2);
            places.extend((0..threads).map(|_| place));
        }
        let layout = Layout::new(places).with_shards_of(shard);
        let cpus = 0..layout.places.len();
        for scope in Scope::ALL {
            for a in cpus.clone() {
                let pod = layout.pod(scope, a);
                prop_assert!(pod.contains(a));
                for b in pod.iter() {
                    prop_assert_eq!(layout.pod(scope, b), pod);
                }
                let wider = layout.pod(Scope::Cache, a);
                prop_assert!(scope > Scope::CacheShard || pod.and(&wider) == pod);
            }
        }
    }

    /// The nodes' shares are within the limits, and enough in sum.
    #[test]
    fn shares_cover_the_limit(max in 1u32..2048, min in 0u32..2048, mask in 1u64..256) {
        let t8 = regular(8, 2, 4, 4);
        let mut words = [0; crate::MAX_CPUS / 64];
        words[0] = mask;
        let attrs = Attrs { cpumask: Some(CpuMask::from_words(words)), ..attrs() };
        let min = min.min(max);
        // Of node 1 it may have no CPU.
        let shares = [0, 1].map(|node| t8.share(&attrs, Some(node), max, min));
        prop_assert!(shares.iter().all(|share| (min.max(1)..=max).contains(share)));
        prop_assert!(shares.iter().sum::<u32>() >= max);
    }
}

#[test]
fn workers_have_a_place_only_where_they_may_be_elsewhere() {
    let t8 = regular(8, 2, 4, 4);
    let in_cache = Attrs {
        scope: Some(Scope::Cache),
        ..attrs()
    };
    let reach = |strict| {
        t8.reach(
            Kind::Unmanaged,
            &Attrs { strict, ..in_cache },
            Spread::No,
            6,
        )
    };
    let starts = reach(false).starts_in().map(|mask| mask.to_string());
    assert_eq!(starts.as_deref(), Some("4-7"));
    assert_eq!(reach(true).starts_in(), None);
    assert_eq!(Reach::of_cpu(3).starts_in(), None);
}

#[test]
fn a_managed_queue_that_is_spread_has_a_pool_for_each_shard_and_may_go_anywhere() {
    let mut t16 = regular(16, 1, 8, 16);
    let pods = |layout: &Layout, kind, attrs: &Attrs, spread| {
        [3, 12].map(|cpu| layout.reach(kind, attrs, spread, cpu).pod.to_string())
    };
    let both = ["0-7", "8-15"];
    let all = ["0-15", "0-15"];
    let managed = Kind::Managed;
    assert_eq!(pods(&t16, managed, &attrs(), Spread::No), all);
    assert_eq!(pods(&t16, managed, &attrs(), Spread::Shards), both);
    let reach = t16.reach(managed, &attrs(), Spread::Shards, 3);
    assert_eq!(
        (reach.allowed.to_string().as_str(), reach.near),
        ("0-15", None)
    );
    assert!(t16.has_one_route(managed, &attrs(), Spread::No));
    assert!(!t16.has_one_route(managed, &attrs(), Spread::Shards));
    // Who asks for one pool, or for an order, has one.
    let system = Attrs {
        scope: Some(Scope::System),
        ..attrs()
    };
    assert_eq!(pods(&t16, managed, &system, Spread::Shards), all);
    assert_eq!(pods(&t16, Kind::Fifo, &attrs(), Spread::Shards), all);
    // In a shard each CPU takes what is near, and workers are brought back if that is asked for.
    let by_cpu = Attrs {
        scope: Some(Scope::Cpu),
        ..attrs()
    };
    let near = t16.reach(managed, &by_cpu, Spread::Shards, 3).near;
    assert_eq!(near.map(|near| near.scope), Some(Scope::Cpu));
    let homes = Attrs {
        locality: HOMING_COST,
        ..attrs()
    };
    let near = t16.reach(managed, &homes, Spread::Shards, 3).near;
    assert_eq!(near.map(|near| near.homes), Some(true));
    t16.set_quota(15);
    assert_eq!(
        pods(&t16, managed, &attrs(), Spread::Shards),
        all,
        "fewer than CPUs"
    );
}

#[test]
fn another_machine_changes_the_pods_and_not_what_was_set() {
    let mut layout = regular(4, 1, 4, 4);
    layout.set_default_scope(Scope::Numa);
    layout.follow(regular(8, 2, 4, 4));
    assert_eq!(layout.pod(Scope::Smt, 5).to_string(), "4-5");
    assert_eq!(layout.default_scope(), Scope::Numa);
    assert_eq!(layout.unbound().to_string(), "0-7", "it was everything");
    assert!(layout.set_unbound([1, 2].into_iter().collect()));
    layout.follow(regular(16, 2, 4, 8));
    assert_eq!(layout.unbound().to_string(), "1-2");
}

#[test]
fn distances_are_those_of_the_machine_that_is() {
    let nearness = Nearness {
        scope: Scope::Cache,
        homes: false,
    };
    let mut layout = regular(8, 1, 8, 8);
    assert_eq!(layout.near(nearness).distance(0, 7), 0);
    layout.follow(regular(8, 1, 4, 4));
    assert_ne!(layout.near(nearness).distance(0, 7), 0);
}
