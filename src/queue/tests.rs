//! Jobs are added, taken, renewed and ended on a file of SQLite.

use std::slice;

use super::*;
use crate::domain::queue::{BudgetPart, JobRequest, QueueBudget, ScheduledSelection};
use crate::domain::request::ReviewScope;

const LEASE: Duration = Duration::from_mins(10);

fn queue() -> (tempfile::TempDir, JobQueue) {
    let folder = tempfile::tempdir().unwrap();
    let queue = JobQueue::open(&DatabaseAddress::File(folder.path().join("queue.db"))).unwrap();
    (folder, queue)
}

fn job(name: &str, priority: i64) -> NewJob {
    let scope = ReviewScope::Branch { target: None, head: Some(name.to_owned()) };
    let request =
        JobRequest { repository: "demo".to_owned(), name: name.to_owned(), scope, commits: Vec::new(), post: false };
    NewJob { key: format!("key of {name}"), work: JobWork::Review(request), priority }
}

fn leased(queue: &JobQueue) -> Option<LeasedJob> {
    queue.free_expired().unwrap();
    queue.lease("w", LEASE).unwrap()
}

fn name_of(job: &LeasedJob) -> String {
    job.work.as_ref().unwrap().name()
}

#[test]
fn jobs_are_added_once_and_taken_by_priority_and_age() {
    let (_folder, queue) = queue();
    let jobs: Vec<NewJob> = (0..250).map(|at| job(&format!("b{at}"), i64::from(at == 77))).collect();
    assert_eq!(queue.add(&jobs).unwrap(), 250);
    assert_eq!(queue.add(&jobs[..3]).unwrap(), 0);
    let first = leased(&queue).unwrap();
    assert_eq!((name_of(&first).as_str(), first.attempts), ("b77", 1));
    let mut taken: Vec<String> = std::iter::from_fn(|| leased(&queue)).map(|job| name_of(&job)).collect();
    taken.sort();
    taken.dedup();
    assert_eq!(taken.len(), 249, "each job is taken once");
}

#[test]
fn workers_on_two_threads_never_take_one_job_twice() {
    let (folder, queue) = queue();
    queue.add(&(0..120).map(|at| job(&at.to_string(), 0)).collect::<Vec<_>>()).unwrap();
    let address = DatabaseAddress::File(folder.path().join("queue.db"));
    let mut all: Vec<String> = std::thread::scope(|scope| {
        let takers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let own = JobQueue::open(&address).unwrap();
                    std::iter::from_fn(|| leased(&own)).map(|job| name_of(&job)).collect::<Vec<_>>()
                })
            })
            .collect();
        takers.into_iter().flat_map(|taker| taker.join().unwrap()).collect()
    });
    let taken = all.len();
    all.sort();
    all.dedup();
    assert_eq!((taken, all.len()), (120, 120));
}

#[test]
fn a_job_whose_lease_has_ended_is_taken_over_and_its_former_worker_changes_nothing() {
    let (_folder, queue) = queue();
    queue.add(&[job("a", 0)]).unwrap();
    let lost = queue.lease("one", Duration::ZERO).unwrap().unwrap();
    std::thread::sleep(Duration::from_millis(5));
    let own = leased(&queue).unwrap();
    assert_eq!((own.id == lost.id, own.attempts), (true, 2));
    assert_eq!(queue.renew(&lost, LEASE).unwrap(), LeaseState::Lost);
    assert_eq!(queue.end(&lost, &JobEnd::Dead("mine".to_owned())).unwrap(), None);
    assert_eq!(queue.renew(&own, LEASE).unwrap(), LeaseState::Held);
    for _ in 0..2 {
        let end = JobEnd::Done(serde_json::json!({ "outcome": "complete" }));
        assert_eq!(queue.end(&own, &end).unwrap(), Some(JobState::Done));
    }
    let list = queue.list(Some(JobState::Done), 10).unwrap();
    assert_eq!(list[0].result.as_ref().unwrap()["outcome"], "complete");
    assert!(leased(&queue).is_none());
}

#[test]
fn a_job_that_fails_is_tried_again_later_and_is_dead_in_the_end_with_its_reason() {
    let (_folder, queue) = queue();
    queue.add(&[job("a", 0), job("b", -1)]).unwrap();
    let later = JobEnd::Retry("the provider is away".to_owned(), Duration::from_hours(1));
    let job = leased(&queue).unwrap();
    queue.end(&job, &later).unwrap();
    assert_eq!(name_of(&leased(&queue).unwrap()), "b", "the one that failed waits");
    let at_once = JobEnd::Retry("no\0pe".to_owned(), Duration::ZERO);
    queue.retry(&[]).unwrap();
    assert!(queue.retry(slice::from_ref(&job.id)).is_err(), "it waits already");
    queue.cancel(slice::from_ref(&job.id)).unwrap();
    assert_eq!(queue.retry(slice::from_ref(&job.id)).unwrap(), 1);
    for attempt in 1..=MOST_ATTEMPTS {
        let job = leased(&queue).unwrap();
        assert_eq!(job.attempts, attempt);
        let state = if attempt == MOST_ATTEMPTS { JobState::Dead } else { JobState::Waiting };
        assert_eq!(queue.end(&job, &at_once).unwrap(), Some(state));
    }
    assert!(leased(&queue).is_none());
    let dead = queue.list(Some(JobState::Dead), 10).unwrap();
    assert_eq!((dead.len(), dead[0].reason.as_deref()), (1, Some("no\u{fffd}pe")));
    assert_eq!(queue.retry(&[]).unwrap(), 1);
    assert_eq!(leased(&queue).unwrap().attempts, 1);
}

#[test]
fn a_job_that_kills_its_worker_is_dead_in_the_end() {
    let (_folder, queue) = queue();
    queue.add(&[job("a", 0)]).unwrap();
    for _ in 0..MOST_ATTEMPTS {
        assert_eq!(queue.free_expired().unwrap(), 0);
        assert!(queue.lease("w", Duration::ZERO).unwrap().is_some());
        std::thread::sleep(Duration::from_millis(3));
    }
    assert_eq!(queue.free_expired().unwrap(), 1);
    assert!(leased(&queue).is_none());
    let reason = queue.list(Some(JobState::Dead), 1).unwrap().remove(0).reason.unwrap();
    assert_eq!(reason, "its worker disappeared 8 times before it finished");
}

#[test]
fn jobs_are_canceled_drained_released_and_purged() {
    let (_folder, queue) = queue();
    queue.add(&[job("a", 1), job("b", 0)]).unwrap();
    let running = leased(&queue).unwrap();
    queue.cancel(slice::from_ref(&running.id)).unwrap();
    assert_eq!(queue.renew(&running, LEASE).unwrap(), LeaseState::Canceled);
    queue.end(&running, &JobEnd::Canceled).unwrap();
    queue.drain(true).unwrap();
    assert!(leased(&queue).is_none());
    assert!(queue.status().unwrap().is_drained);
    queue.drain(false).unwrap();
    let other = leased(&queue).unwrap();
    queue.end(&other, &JobEnd::Release(Duration::ZERO)).unwrap();
    let status = queue.status().unwrap();
    assert_eq!((status.jobs[&JobState::Waiting], status.jobs[&JobState::Canceled]), (1, 1));
    assert!(status.oldest_waiting_ms.is_some());
    assert_eq!(leased(&queue).unwrap().attempts, 1, "a release is no attempt");
    assert_eq!(queue.purge(Duration::from_hours(1)).unwrap(), 0);
    assert_eq!(queue.purge(Duration::ZERO).unwrap(), 1);
    assert!(queue.cancel(&[running.id]).is_err(), "it is gone");
}

#[test]
fn a_canceled_job_stays_canceled_when_its_worker_gives_it_back_or_disappears() {
    let (_folder, queue) = queue();
    queue.add(&[job("a", 1), job("b", 0)]).unwrap();
    let returned = leased(&queue).unwrap();
    let lost = queue.lease("w", Duration::ZERO).unwrap().unwrap();
    queue.cancel(&[returned.id.clone(), lost.id]).unwrap();
    assert_eq!(queue.end(&returned, &JobEnd::Release(Duration::ZERO)).unwrap(), Some(JobState::Canceled));
    std::thread::sleep(Duration::from_millis(3));
    assert!(leased(&queue).is_none());
    assert_eq!(queue.status().unwrap().jobs, [(JobState::Canceled, 2)].into());
}

#[test]
fn a_row_that_is_no_job_is_given_to_a_worker_as_such() {
    let (_folder, queue) = queue();
    queue.add(&[job("a", 0)]).unwrap();
    queue.database.execute("update review_jobs set request = '{\"scope\":9}'", Vec::new()).unwrap();
    let job = leased(&queue).unwrap();
    assert!(job.work.unwrap_err().starts_with("the job cannot be read: "));
}

#[test]
fn tables_of_a_later_version_are_refused() {
    let (folder, queue) = queue();
    queue.database.execute("update review_queue set value = 99 where name = 'version'", Vec::new()).unwrap();
    let error = JobQueue::open(&DatabaseAddress::File(folder.path().join("queue.db"))).unwrap_err();
    assert!(error.to_string().contains("a later version (99, this program knows 2)"), "{error}");
}

fn part(tokens: u64, cost: &str) -> BudgetPart {
    BudgetPart { tokens, cost: cost.parse().unwrap() }
}

fn drawn(queue: &JobQueue, holder: &str, taken: BudgetPart, wanted: BudgetPart) -> BudgetPart {
    queue.draw(holder, |_| (taken, wanted)).unwrap().part.unwrap()
}

#[test]
fn workers_take_parts_of_one_budget_and_what_a_dead_one_had_counts_as_spent() {
    let (_folder, queue) = queue();
    let nothing = BudgetPart::default();
    assert_eq!(queue.draw("a", |_| (nothing, part(9, "9"))).unwrap().part, None, "there is no budget");
    let limit = QueueBudget { max_cost: Some("10".parse().unwrap()), ..QueueBudget::default() };
    queue.set_budget(Some(&limit)).unwrap();
    assert_eq!(drawn(&queue, "a", nothing, part(1_000, "4")), part(1_000, "4"));
    assert_eq!(drawn(&queue, "b", nothing, part(1_000, "8")), part(1_000, "6"), "as much as there is");
    assert_eq!(drawn(&queue, "c", nothing, part(1_000, "1")), part(1_000, "0"));
    assert!(queue.status().unwrap().budget.unwrap().is_used_up());
    assert_eq!(drawn(&queue, "b", part(500, "2.5"), part(500, "2.5")), part(500, "2.5"), "the rest goes back");
    let budget = queue.budget().unwrap().unwrap();
    assert_eq!((budget.spent, budget.is_used_up()), (part(2_500, "6.5"), false), "of a that is gone, all");
    assert_eq!(drawn(&queue, "b", part(500, "7"), part(900, "9")), part(900, "7"), "what is spent is written down");
    assert_eq!(drawn(&queue, "a", part(1_000, "4"), part(2_000, "5")).cost, "4".parse().unwrap());
    let more = QueueBudget { max_cost: Some("12".parse().unwrap()), max_tokens: Some(4_000), ..limit };
    queue.set_budget(Some(&more)).unwrap();
    assert_eq!(drawn(&queue, "c", nothing, part(5_000, "9")), part(4_000 - 900 - 2_000, "1"));
    let daily = QueueBudget { is_daily: true, ..limit };
    queue.set_budget(Some(&daily)).unwrap();
    assert_eq!(queue.budget().unwrap().unwrap().spent, nothing, "another period");
    let drawn = queue.draw("a", |period| (nothing, part(u64::try_from(period).unwrap(), "1"))).unwrap();
    assert!(drawn.period > 20_000, "the days since 1970");
    queue.set_budget(None).unwrap();
    assert!(queue.status().unwrap().budget.is_none());
}

#[test]
fn workers_on_several_threads_never_take_more_than_the_budget() {
    let (folder, queue) = queue();
    let limit = QueueBudget { max_tokens: Some(1_000), ..QueueBudget::default() };
    queue.set_budget(Some(&limit)).unwrap();
    let address = DatabaseAddress::File(folder.path().join("queue.db"));
    let all: u64 = std::thread::scope(|scope| {
        let workers: Vec<_> = ["a", "b", "c"]
            .into_iter()
            .map(|name| {
                let own = JobQueue::open(&address).unwrap();
                scope.spawn(move || {
                    let mut has = BudgetPart::default();
                    for _ in 0..40 {
                        has = drawn(&own, name, has, BudgetPart { tokens: has.tokens + 17, ..has });
                    }
                    has.tokens
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    assert_eq!((all, queue.budget().unwrap().unwrap().spent.tokens), (1_000, 1_000));
}

#[test]
fn a_worker_that_joins_waits_until_the_others_know_of_it() {
    let (_folder, queue) = queue();
    let beat = |name: &str| queue.beat(name, LEASE).unwrap();
    assert_eq!(beat("a"), ActiveWorkers { count: 1, unaware: 0 });
    assert_eq!(beat("b"), ActiveWorkers { count: 2, unaware: 1 });
    queue.database.execute("update review_workers set joined_at = joined_at - 5000", Vec::new()).unwrap();
    assert_eq!(beat("a"), ActiveWorkers { count: 2, unaware: 0 });
    assert_eq!(beat("b"), ActiveWorkers { count: 2, unaware: 0 });
    queue.beat("c", Duration::ZERO).unwrap();
    std::thread::sleep(Duration::from_millis(5));
    assert_eq!(beat("a").count, 2, "one that died counts until its time is over");
    queue.leave("b").unwrap();
    assert_eq!(beat("a").count, 1);
}

fn schedule(name: &str) -> ScheduledSelection {
    ScheduledSelection { schedule: name.to_owned(), repository: "demo".to_owned(), ..ScheduledSelection::default() }
}

#[test]
fn a_due_time_adds_one_job_whoever_is_first() {
    let (_folder, queue) = queue();
    let day = Duration::from_hours(24);
    queue.set_schedule(&schedule("nightly"), day, None).unwrap();
    queue.set_schedule(&schedule("later"), day, Some(Duration::from_millis(1))).unwrap();
    assert_eq!((queue.add_due().unwrap(), queue.add_due().unwrap()), (1, 0));
    let job = leased(&queue).unwrap();
    assert_eq!(job.work.unwrap(), JobWork::Add(schedule("nightly")));
    assert!(leased(&queue).is_none());
    let list = queue.schedules().unwrap();
    let until: Vec<i64> = list.iter().map(|one| one.next_ms - list[0].next_ms).collect();
    assert!((0..=86_400_000).contains(&until[1]), "{list:?}");
    assert!(list.iter().any(|one| one.name == "later" && one.next_ms % 86_400_000 == 1), "{list:?}");
    // A worker that stopped in between, and due times that passed while none ran.
    let set = |column: &str| {
        queue
            .database
            .execute(&format!("update review_schedules set next_at = {column} where name = 'later'"), Vec::new())
    };
    set("1700000000000").unwrap();
    assert_eq!(queue.add_due().unwrap(), 1, "many due times are one");
    set("1700000000000").unwrap();
    assert_eq!(queue.add_due().unwrap(), 0, "the same due time");
    assert!(queue.remove_schedule("later").unwrap() && !queue.remove_schedule("later").unwrap());
    queue.database.execute("update review_schedules set request = '[', next_at = 5", Vec::new()).unwrap();
    assert!(queue.schedules().unwrap()[0].selection.is_err());
    assert_eq!(queue.add_due().unwrap(), 1);
    let names: Vec<String> = queue.list(None, 9).unwrap().into_iter().map(|job| job.name).collect();
    assert_eq!(names.iter().filter(|name| *name == "schedule nightly").count(), 2, "{names:?}");
}

#[test]
fn workers_on_several_threads_add_a_due_time_once() {
    let (folder, queue) = queue();
    queue.set_schedule(&schedule("nightly"), Duration::from_hours(24), None).unwrap();
    let address = DatabaseAddress::File(folder.path().join("queue.db"));
    let own: Vec<JobQueue> = (0..4).map(|_| JobQueue::open(&address).unwrap()).collect();
    let added: u64 = std::thread::scope(|scope| {
        let workers: Vec<_> = own.iter().map(|queue| scope.spawn(|| queue.add_due().unwrap())).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    assert_eq!((added, queue.list(None, 9).unwrap().len()), (1, 1));
}
