#include "kusari/framework/kernels/exchange.h"

#include "kusari/framework/core/backend.h"

namespace kusari {
namespace {

void start_exchange(Params<kernels::ExchangePlace> place, InOut data) { place->exchange->start(place->bucket, *data); }
void finish_exchange(Params<kernels::ExchangePlace> place, InOut data) {
  place->exchange->finish(place->bucket, *data);
}
void look_at_exchange(Params<kernels::ExchangePlace> place) { place->exchange->look(); }

}  // namespace

RecordedExchange::~RecordedExchange() = default;

void register_exchange(Backend& backend) {
  backend.add<kernels::StartExchange>(start_exchange);
  backend.add<kernels::FinishExchange>(finish_exchange);
  backend.add<kernels::StartDeviceExchange>(start_exchange);
  backend.add<kernels::FinishDeviceExchange>(finish_exchange);
  backend.add<kernels::LookAtExchange>(look_at_exchange);
}

}  // namespace kusari
