#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/device.h"
#include "kusari/framework/kusari.h"
#include "kusari/tests/links/models.h"

// State that a class keeps in plain arrays and variables.
namespace kusari::testing {
namespace {

class Recurrent : public Chain {
 public:
  explicit Recurrent(std::vector<std::string>* events = nullptr)
      : l{*this, "l", 3, 3}, h(zeros({1, 3}), false), events_{events} {}
  Variable operator()(const Variable& x) {
    h = h + l(x);
    return h;
  }

  Child<L::Linear> l;
  Variable h;

 protected:
  void moved_to(const Device& device) override {
    CHECK(l.W.device() == device);  // the registered members first
    h = Variable(h.array().to_device(device), false);
    if (events_ != nullptr) events_->push_back("to " + device.name());
  }
  void converted_to(Dtype dtype) override {
    CHECK(l.W.dtype() == dtype);
    h = Variable(h.array().astype(dtype), false);
    if (events_ != nullptr) events_->push_back(std::string("to ") + name(dtype));
  }

 private:
  std::vector<std::string>* events_;
};

class ToldDtype : public L::LayerNormalization {
 public:
  explicit ToldDtype(Dtype* seen) : LayerNormalization(3), seen_{seen} {}

 protected:
  void converted_to(Dtype dtype) override { *seen_ = dtype; }

 private:
  Dtype* seen_;
};

TEST_CASE("state of a class of one's own follows the model") {
  using Events = std::vector<std::string>;
  Events events;
  Recurrent link(&events);
  link.to(Dtype::float64);
  CHECK(link.h.dtype() == Dtype::float64);
  CHECK(link(Variable(ones({1, 3}, Dtype::float64), false)).dtype() == Dtype::float64);
  link.to(Device());
  CHECK(events == Events{"to float64", "to " + Device().name()});

  events.clear();
  Sequential deep(AnyLink(Sequential(std::move(link))), F::relu);
  deep.to(Dtype::float32);
  auto graph = static_graph(std::move(deep));
  graph.to(Device());
  CHECK(events == Events{"to float32", "to " + Device().name()});
}

TEST_CASE("a link is told the dtype that its own parameters have") {
  Dtype seen = Dtype::int8;
  ToldDtype link(&seen);
  link.to(Dtype::float16);
  CHECK(seen == Dtype::float32);
  link.to(Dtype::float16, {.keep_float32 = false});
  CHECK(seen == Dtype::float16);
}

TEST_CASE("a copy's state moves for itself") {
  Recurrent link;
  Recurrent copied = link;
  copied.to(Dtype::float64);
  CHECK(link.h.dtype() == Dtype::float32);
  CHECK(copied.h.dtype() == Dtype::float64);
}

}  // namespace
}  // namespace kusari::testing
