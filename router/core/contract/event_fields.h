// The fields of each event, action and part of a fleet, in the order in which the event log writes and reads them.
//
// One list per type serves the writer and the reader: Fields(archive, value) visits them in order.
#ifndef PENSTOCK_ROUTER_CORE_CONTRACT_EVENT_FIELDS_H_
#define PENSTOCK_ROUTER_CORE_CONTRACT_EVENT_FIELDS_H_

#include "router/core/contract/action.h"
#include "router/core/contract/event.h"

namespace penstock {

template <class Archive>
void Fields(Archive& archive, RequestArrived& e) {
  archive(e.request, e.model, e.service_class, e.tenant, e.prompt, e.prompt_sigma, e.max_output, e.sequences,
          e.embedding, e.observed, e.regenerable, e.continues, e.whole, e.divisible, e.body, e.home, e.shape, e.session,
          e.prefix, e.storage);
}
template <class Archive>
void Fields(Archive& archive, FirstToken& e) {
  archive(e.request);
}
template <class Archive>
void Fields(Archive& archive, RequestClosed& e) {
  archive(e.request, e.outcome, e.prompt, e.output, e.hit_limit, e.cached);
}
template <class Archive>
void Fields(Archive& archive, RequestRequeued& e) {
  archive(e.request, e.generated, e.avoid_replica, e.in_prefill);
}
template <class Archive>
void Fields(Archive& archive, PrefillEnded& e) {
  archive(e.request, e.handed_over, e.cached);
}
template <class Archive>
void Fields(Archive& archive, AnswerFixed& e) {
  archive(e.request);
}
template <class Archive>
void Fields(Archive& archive, StreamTokens& e) {
  archive(e.request, e.generated);
}
template <class Archive>
void Fields(Archive& archive, ReplicaProgress& e) {
  archive(e.replica, e.steps, e.newest_step_end, e.delayed);
}
template <class Archive>
void Fields(Archive& archive, Progress& e) {
  archive(e.replicas, e.corrections);
}
template <class Archive>
void Fields(Archive& archive, EngineReport& e) {
  archive(e.replica, e.sampled_at, e.kv_used_share, e.running, e.waiting, e.preemptions, e.cache_queries, e.cache_hits);
}
template <class Archive>
void Fields(Archive& archive, ReplicaHealth& e) {
  archive(e.replica, e.health);
}
template <class Archive>
void Fields(Archive& archive, ReplicaResidency& e) {
  archive(e.replica, e.residency, e.failed, e.took, e.level);
}
template <class Archive>
void Fields(Archive& archive, ElasticReport& e) {
  archive(e.replica, e.sampled_at, e.limit, e.used, e.preallocated);
}
template <class Archive>
void Fields(Archive& archive, AdapterResidency& e) {
  archive(e.replica, e.model, e.loaded, e.failed, e.took);
}
template <class Archive>
void Fields(Archive& archive, NodeReport& e) {
  archive(e.replica, e.derate, e.storage_pressure, e.closed, e.cpu_pressure);
}
template <class Archive>
void Fields(Archive& archive, PromptBlock& e) {
  archive(e.block, e.position);
}
template <class Archive>
void Fields(Archive& archive, CacheReport& e) {
  archive(e.replica, e.news, e.stored, e.removed, e.host_stored, e.host_removed);
}
template <class Archive>
void Fields(Archive& archive, AdapterSpec& e) {
  archive(e.on_demand, e.most, e.load, e.timeout);
}
template <class Archive>
void Fields(Archive& archive, GpuSpec& e) {
  archive(e.name, e.memory, e.elastic, e.managed);
}
template <class Archive>
void Fields(Archive& archive, HostSpec& e) {
  archive(e.name, e.sleep_memory);
}
template <class Archive>
void Fields(Archive& archive, SleepSpec& e) {
  archive(e.after, e.wake, e.weights, e.may_drop, e.wake_dropped);
}
template <class Archive>
void Fields(Archive& archive, PoolSpec& e) {
  archive(e.name, e.capacity, e.in_bytes, e.overflow_fatal, e.limited);
}
template <class Archive>
void Fields(Archive& archive, Footprint& e) {
  archive(e.full_per_token, e.windowed_per_token, e.window, e.constant, e.block, e.in_flight);
}
template <class Archive>
void Fields(Archive& archive, PoolShare& e) {
  archive(e.pool, e.footprint);
}
template <class Archive>
void Fields(Archive& archive, StepCoefficients& e) {
  archive(e.a, e.b, e.c, e.d, e.e);
}
template <class Archive>
void Fields(Archive& archive, HostCacheSpec& e) {
  archive(e.tokens, e.seconds);
}
template <class Archive>
void Fields(Archive& archive, ReplicaSpec& e) {
  archive(e.name, e.models, e.pools, e.gpus, e.time_sliced, e.prior, e.prior_known, e.learns_steps, e.max_context,
          e.batch_budget, e.max_sequences, e.prefix_cache, e.shares_prompts, e.abort_hold, e.sleep, e.resident,
          e.removed, e.adapters, e.price, e.role, e.transfer, e.host_cache, e.doubted_context, e.doubted_prompt);
}
template <class Archive>
void Fields(Archive& archive, ModelSpec& e) {
  archive(e.name, e.base, e.storage);
}
template <class Archive>
void Fields(Archive& archive, ClassSpec& e) {
  archive(e.name, e.ttft, e.tpot, e.queue, e.refuse_late, e.evictable, e.parking, e.share, e.promote_after);
}
template <class Archive>
void Fields(Archive& archive, TenantLimits& e) {
  archive(e.tokens_per_minute, e.max_concurrent);
}
template <class Archive>
void Fields(Archive& archive, TenantSpec& e) {
  archive(e.id, e.name, e.weight, e.limits);
}
template <class Archive>
void Fields(Archive& archive, CoreLimits& e) {
  archive(e.max_queued_requests, e.max_queued_bytes, e.dispatch_delay);
}
template <class Archive>
void Fields(Archive& archive, FleetChanged& e) {
  archive(e.fleet.gpus, e.fleet.pools, e.fleet.replicas, e.fleet.models, e.fleet.classes, e.fleet.tenants,
          e.fleet.limits, e.fleet.fairness.mode, e.fleet.fairness.unit, e.fleet.hosts);
}
template <class Archive>
void Fields(Archive&, ShutdownStarted&) {}
template <class Archive>
void Fields(Archive&, TimerFired&) {}
template <class Archive>
void Fields(Archive& archive, PrefillOrder& a) {
  archive(a.replica, a.lease, a.expected);
}
template <class Archive>
void Fields(Archive& archive, Forward& a) {
  archive(a.request, a.replica, a.lease, a.waited, a.expected_ttft, a.peak_share);
  // Actions are only written, so a part that most of them lack may be left out.
  if (a.prefill) archive(*a.prefill);
}
template <class Archive>
void Fields(Archive& archive, Park& a) {
  archive(a.request, a.reason, a.position);
}
template <class Archive>
void Fields(Archive& archive, Refuse& a) {
  archive(a.request, a.reason, a.retry_after, a.bound, a.value, a.early);
  if (a.unwoken) archive(a.unwoken);
}
template <class Archive>
void Fields(Archive& archive, Abort& a) {
  archive(a.request, a.lease, a.reason);
}
template <class Archive>
void Fields(Archive& archive, Sleep& a) {
  archive(a.replica);
  if (a.level != SleepLevel::kUnsaid) archive(a.level);
}
template <class Archive>
void Fields(Archive& archive, Wake& a) {
  archive(a.replica);
}
template <class Archive>
void Fields(Archive& archive, SetShare& a) {
  archive(a.replica, a.limit);
}
template <class Archive>
void Fields(Archive& archive, LoadAdapter& a) {
  archive(a.replica, a.model, a.instead_of);
}

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_CONTRACT_EVENT_FIELDS_H_
