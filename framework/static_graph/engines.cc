#include "kusari/framework/static_graph/engines.h"

#include <mutex>
#include <utility>

namespace kusari::graphs {

class Engines::Lease {
 public:
  explicit Lease(Place& place) noexcept : place_{place} {}
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() { place_.user.store(std::thread::id(), std::memory_order_release); }

 private:
  Place& place_;
};

Engines::Engines(StaticGraphOptions options)
    : shared_{std::make_shared<EnginesShared>(std::move(options))}, first_{shared_, true} {}

// Calls that wait for their backward have memory of the engine, which their thread will give back.
bool Engines::take(Place& place, std::thread::id self) noexcept {
  std::thread::id nobody;
  if (!place.user.compare_exchange_strong(nobody, self, std::memory_order_acquire, std::memory_order_relaxed)) {
    return false;
  }
  if (place.last_user != self && place.engine.has_open_calls()) {
    place.user.store(std::thread::id(), std::memory_order_release);
    return false;
  }
  place.last_user = self;
  return true;
}

Engines::Place& Engines::take_any(std::thread::id self) {
  const std::scoped_lock lock(mutex_);
  for (const auto& place : others_) {
    if (take(*place, self)) return *place;
  }
  Place& added = *others_.emplace_back(std::make_unique<Place>(shared_, false));
  take(added, self);
  has_others_.store(true, std::memory_order_relaxed);
  return added;
}

bool Engines::is_calling(std::thread::id self) const noexcept {
  if (first_.user.load(std::memory_order_relaxed) == self) return true;
  if (!has_others_.load(std::memory_order_relaxed)) return false;  // if this thread made one, it knows
  const std::scoped_lock lock(mutex_);
  for (const auto& place : others_) {
    if (place->user.load(std::memory_order_relaxed) == self) return true;
  }
  return false;
}

Variables Engines::call(const Callee& callee, std::span<const Variable> inputs) {
  const std::thread::id self = std::this_thread::get_id();
  if (is_calling(self)) return callee.call(callee.object, inputs);  // from the call itself, or its static_code
  Place& place = take(first_, self) ? first_ : take_any(self);
  const Lease lease(place);
  return place.engine.call(callee, inputs);
}

template <class Visit>
void Engines::for_each(Visit visit) const {
  visit(first_.engine);
  const std::scoped_lock lock(mutex_);
  for (const auto& place : others_) visit(place->engine);
}

std::string Engines::summary() const {
  std::string text = "static_graph '" + options().name + "'\n";
  for_each([&](const Engine& engine) { text += engine.summary(); });
  return text;
}

std::string Engines::dot() const {
  std::string text;
  for_each([&](const Engine& engine) { text += engine.dot(); });
  return text;
}

void Engines::clear() noexcept {
  first_.engine.clear();
  const std::scoped_lock lock(mutex_);
  for (const auto& place : others_) place->engine.clear();
}

}  // namespace kusari::graphs
