//! Pools on machines of a few CPUs, and what lines that CPUs share cost them.

use cmwq_sim::scale::{Cell, Design, Hardware, Shape, machine};

const SHAPES: [Shape; 3] = [Shape::Outside(2), Shape::Inside, Shape::Root];

fn cell(design: Design, shape: Shape, cpus: u32) -> Cell {
    Cell {
        design,
        shape,
        topology: machine(cpus),
        hardware: Hardware::large(),
        item: 500,
        items: 2_000,
        seed: 1,
    }
}

#[test]
fn all_items_end_in_no_less_time_than_they_compute() {
    for design in Design::ALL {
        for shape in SHAPES {
            for cpus in [2, 3, 16, 20, 64] {
                let outcome = cell(design, shape, cpus).run();
                let computes = 2_000 * 500 / u64::from(cpus);
                assert!(
                    outcome.elapsed > computes,
                    "{design:?} {shape:?} {cpus}: {outcome:?}"
                );
                // No line is busy for longer than there is time, but for what waits at the end.
                let busy = outcome.global.busy_ns();
                let most = outcome.elapsed + 10_000 * u64::from(cpus);
                assert!(busy <= most, "{design:?} {shape:?} {cpus}: {outcome:?}");
            }
        }
    }
}

#[test]
fn the_same_cell_comes_out_the_same() {
    for design in Design::ALL {
        for shape in SHAPES {
            let cell = cell(design, shape, 16);
            assert_eq!(cell.run(), cell.run(), "{design:?} {shape:?}");
        }
    }
}

#[test]
fn one_lock_stands_still_where_a_lane_for_each_cache_does_not() {
    let per_second = |design, cpus| {
        let cell = Cell {
            items: 60_000,
            ..cell(design, Shape::Inside, cpus)
        };
        cell.run().per_second()
    };
    let gain = |design| 10 * per_second(design, 32) / per_second(design, 8);
    assert!(gain(Design::OneLock) < 10, "{}", gain(Design::OneLock));
    for design in [Design::Deques, Design::Batches] {
        assert!(gain(design) > 20, "{design:?}: {}", gain(design));
    }
}

#[test]
fn where_workers_wait_for_the_lock_they_are_dealt_items_of_any_length() {
    for item in [1_000, 10_000, 30_000] {
        for shape in [Shape::Outside(16), Shape::Inside] {
            let per_second = |design| {
                let cell = Cell {
                    item,
                    items: 30_000,
                    ..cell(design, shape, 64)
                };
                cell.run().per_second()
            };
            let (cmwq, one_lock) = (per_second(Design::Cmwq), per_second(Design::OneLock));
            assert!(cmwq > 3 * one_lock, "{item} {shape:?}: {cmwq}, {one_lock}");
        }
    }
}

#[test]
fn a_line_lets_no_more_items_pass_than_it_has_time_for() {
    for cpus in [8, 32] {
        let outcome = cell(Design::OneLock, Shape::Inside, cpus).run();
        let least = 150 + 350;
        assert!(outcome.global_ns() >= least, "{outcome:?}");
        assert!(outcome.per_second() <= 1_000_000_000 / least, "{outcome:?}");
    }
}

#[test]
fn one_cpu_pays_for_no_trip() {
    for design in Design::ALL {
        let outcome = cell(design, Shape::Outside(1), 1).run();
        let trips = outcome.global.trip_ns + outcome.local.trip_ns;
        assert_eq!(trips, 0, "{design:?}: {outcome:?}");
    }
}

#[test]
fn the_counters_are_what_keeps_rayon_back_inside() {
    let per_second = |design| cell(design, Shape::Inside, 16).run().per_second();
    assert!(per_second(Design::Deques) > 2 * per_second(Design::Rayon));
}

#[test]
fn machines_have_caches_of_eight_cpus_and_two_nodes_when_large() {
    let far = |cpus, other| machine(cpus).distance(0, other);
    use cmwq_sim::Distance::{Llc, Machine, Node};
    assert_eq!([7, 8].map(|other| far(16, other)), [Llc, Node]);
    assert_eq!(
        [7, 31, 32].map(|other| far(64, other)),
        [Llc, Node, Machine]
    );
}
