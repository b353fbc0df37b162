// The programs of docs/inference.md, compiled and run. blocks_test.cc compares the texts.
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/kusari.h"

namespace kusari::inference_page {
namespace {

class Mlp : public Chain {
 public:
  Mlp() : l1{*this, "l1", 8, 16}, l2{*this, "l2", 16, 3} {}
  Variable operator()(const Variable& x) const { return l2(F::relu(l1(x))); }

 private:
  Child<L::Linear> l1, l2;
};

Array ramp(const Shape& shape) { return (Variable(arange(numel(shape))) / 10.0).array().reshape(shape); }

bool are_close(const Array& a, const Array& b) {
  return a.shape() == b.shape() && F::max(F::absolute(Variable(a) - Variable(b))).item<float>() < 0.02f;
}

TEST_CASE("the programs of docs/inference.md") {
  const Mlp model;
  const Array x = ramp({1, 8}), x16 = ramp({16, 8});
  const Array expected = model(Variable(x)).array();

  const InferenceSession session(model);
  const Arrays y = session.run({x});  // an array for each result; y[0] is the first
  CHECK(are_close(y[0], expected));

  const InferenceSession prepared(model, {.shapes = {{{1, 8}}, {{16, 8}}}});
  CHECK(prepared.plan_count() == 2);

  const InferenceSession batches(model, {.shapes = {{{1, 8}}}, .batch_sizes = {1, 4, 16}});
  const Arrays seven = batches.run({F::get_item(Variable(x16), Slice(0, 7)).array()});  // as 16 rows
  CHECK(seven[0].shape() == Shape{7, 3});
  CHECK(batches.plan_count() == 3);

  std::vector<std::thread> servers;
  for (int i = 0; i < 4; ++i) {
    servers.emplace_back([&] {
      const Array answer = empty({1, 3});
      for (int request = 0; request < 10; ++request) session.run({x}, {answer});  // no allocation
    });
  }
  for (std::thread& server : servers) server.join();
  CHECK(session.plan_count() == 1);

  const InferenceSession half(model, {.dtype = Dtype::bfloat16});
  CHECK(are_close(half.run({x})[0], expected));

  const InferenceSession frozen(copy(model, CopyMode::copy));
  CHECK(are_close(frozen.run({x})[0], expected));
}

}  // namespace
}  // namespace kusari::inference_page
