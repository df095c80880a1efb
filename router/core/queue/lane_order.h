// The order in which waiting requests of a class are tried: a key per request, given when it arrives.
//
// Requests whose goals take no part (refuse_late is off, or an embedding) stand by their first-token deadline in every
// order. Invariant: a place depends on the requests seen before only, so equal event logs give equal places. Owned by
// Rooms; PlaceOf is O(kinds of servers).
#ifndef PENSTOCK_ROUTER_CORE_QUEUE_LANE_ORDER_H_
#define PENSTOCK_ROUTER_CORE_QUEUE_LANE_ORDER_H_

#include <algorithm>
#include <vector>

#include "router/core/books/forecasts.h"
#include "router/core/books/servers.h"
#include "router/core/contract/vacancy.h"
#include "router/core/queue/density_order.h"

namespace penstock {

// A request and the rooms that an order may ask about it.
struct OrderQuestion {
  const RequestState& request;
  const ClassSpec& goals;
  Servers& servers;
  const Forecasts& forecasts;
  Instant now;

  Instant Deadline() const { return request.arrival + goals.ttft; }
  // Expected output in tokens per sequence.
  double Output() const { return forecasts.ExpectedOutput(request); }
  // GPU seconds of the request with this output per sequence: all of them, and those per output token.
  double Work(double output) const { return servers.ExpectedWork(request, output, now); }
  double WorkPerToken(double output) const { return Work(output) / (output * request.arrived.sequences); }
};

class LaneOrder {
 public:
  virtual ~LaneOrder() = default;

  // The request's key in its lane; the earliest goes first.
  Instant PlaceOf(const OrderQuestion& question) {
    const bool by_deadline = !question.goals.refuse_late || question.request.arrived.embedding;
    return by_deadline ? question.Deadline() : Place(question);
  }
  // The fleet has a new description: what was learned of vacant models is forgotten.
  virtual void Configure(const Fleet& /*fleet*/) {}
  // A request was dispatched for the first time, or refused for lateness.
  virtual void Served(const RequestArrived& /*request*/) {}
  virtual void Refused(const RequestArrived& /*request*/) {}
  // The share of the model's last thousand or so requests that was refused for lateness; 0 where the order does not
  // count.
  virtual double RefusedShare(ModelId /*model*/) const { return 0; }

 protected:
  virtual Instant Place(const OrderQuestion& question) = 0;
};

// Earliest first-token deadline, requests of expensive tokens later, but no kind of request sacrificed
// (density_order.h). Each lane has its own, so the costs and refusals of one model do not move the requests of another.
class FairDensityOrder : public LaneOrder {
 public:
  void Configure(const Fleet& fleet) override {
    for (size_t i = 0; i < std::min(lanes_.size(), fleet.models.size()); ++i) {
      if (IsVacant(fleet.models[i])) lanes_[i] = DensityOrder();
    }
  }
  void Served(const RequestArrived& request) override { Of(request.model).Served(request.tenant, request.prompt); }
  void Refused(const RequestArrived& request) override { Of(request.model).Refused(request.tenant, request.prompt); }
  double RefusedShare(ModelId model) const override {
    return model.value() < lanes_.size() ? lanes_[model.value()].RefusedShare() : 0;
  }

 protected:
  Instant Place(const OrderQuestion& question) override {
    const double output = question.Output();
    const RequestArrived& arrived = question.request.arrived;
    const double shift = Of(arrived.model).Shift(arrived.tenant, arrived.prompt, question.WorkPerToken(output));
    return question.Deadline() + Duration::Seconds(shift * question.goals.ttft.seconds());
  }

 private:
  DensityOrder& Of(ModelId model) {
    if (model.value() >= lanes_.size()) lanes_.resize(model.value() + 1);
    return lanes_[model.value()];
  }

  std::vector<DensityOrder> lanes_;  // One entry per model that was seen.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_QUEUE_LANE_ORDER_H_
