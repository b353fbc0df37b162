#include "kusari/framework/static_graph/passes/concat_in_place.h"

#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/basic_kernels.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/initializers/initializer.h"
#include "kusari/framework/initializers/normal.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/matmul.h"
#include "kusari/tests/static_graph/program_testing.h"

namespace kusari::graphs {
namespace {

using kernels::Neg;
using kernels::Relu;

/// Rows [first, first + count) of axis `axis`.
View part_of(View view, int axis, int64_t first, int64_t count) {
  view.offset += first * view.strides[axis] * static_cast<int64_t>(itemsize(view.dtype));
  view.shape[axis] = count;
  return view;
}

struct Joined {
  ProgramBuilder b;
  View x, y;

  explicit Joined(const Shape& shape) : x{b.input(shape)} {}
  void copy(const View& from, const View& to) {
    b.add<kernels::Copy>({operand_of(Kind::in, from), operand_of(Kind::out, to)});
  }
  std::vector<float> run() const {
    const ProgramRunner runner(b.program, ProgramRunner::Memory::packed);
    random::seed(4);
    runner.at(x).copy_from(initializers::generate_array(initializers::Normal(1.0), x.shape, Dtype::float32, Device()));
    runner.run();
    return runner.at(y).to_vector<float>();
  }
  void check(int expected, size_t steps) {
    const std::vector<float> before = run();
    PassLog log;
    CHECK(concat_in_place(b.program, log) == expected);
    CHECK(log.entries.size() == (expected > 0 ? 1 : 0));
    CHECK(b.program.steps.size() == steps);
    CHECK(run() == before);
  }
};

TEST_CASE("concat_in_place: results are written where they are copied to") {
  Joined net({1, 4, 6});
  net.y = net.b.result({1, 9, 6});
  const View a = net.b.pointwise(Relu{}, net.x), one = net.b.pointwise(Neg{}, part_of(net.x, 1, 0, 1));
  net.copy(a, part_of(net.y, 1, 0, 4));
  net.copy(one, part_of(net.y, 1, 4, 1));
  net.copy(net.b.pointwise(Neg{}, net.x), part_of(net.y, 1, 5, 4));
  net.check(3, 3);
}

TEST_CASE("concat_in_place: a product, by the axis of its rows") {
  Joined net({4, 6});
  net.y = net.b.result({8, 4});
  const View product = net.b.temporary({4, 4});
  net.b.add<kernels::Matmul>({operand_of(Kind::in, net.x), operand_of(Kind::in, net.x), operand_of(Kind::in, View()),
                              params_of(kernels::MatmulOptions{.transb = true}), operand_of(Kind::out, product)});
  net.copy(part_of(net.x, 1, 0, 4), part_of(net.y, 0, 0, 4));
  net.copy(product, part_of(net.y, 0, 4, 4));
  net.check(1, 2);
}

TEST_CASE("concat_in_place leaves what it may not change") {
  Joined net({2, 4, 6});
  net.y = net.b.result({2, 8, 6});
  const View part = part_of(net.y, 1, 4, 4), a = net.b.pointwise(Relu{}, net.x);
  net.copy(net.x, part_of(net.y, 1, 0, 4));
  SUBCASE("another memory order") {
    net.copy(a, part);
    net.check(0, 3);
  }
  SUBCASE("another reader") {
    net.y = net.b.result({4, 4, 6});
    net.copy(a, part_of(net.y, 0, 0, 2));
    net.b.pointwise_to(part_of(net.y, 0, 2, 2), Neg{}, a);
    net.check(0, 4);
  }
  SUBCASE("the place is written before the copy") {
    net.y = net.b.result({4, 4, 6});
    net.b.pointwise_to(part_of(net.y, 0, 0, 2), Neg{}, net.x);
    net.copy(net.x, part_of(net.y, 0, 2, 2));
    net.copy(a, part_of(net.y, 0, 0, 2));
    net.check(0, 5);
  }
  SUBCASE("the place is read before the copy") {
    net.y = net.b.result({2, 4, 6});
    const View other = net.b.temporary({2, 4, 6});
    net.copy(net.x, other);
    const View late = net.b.pointwise(Neg{}, net.x);
    net.b.pointwise_to(net.y, Neg{}, other);
    net.copy(late, other);
    net.b.pointwise_to(net.y, kernels::Add{}, net.y, other);
    net.check(0, 7);
  }
}

}  // namespace
}  // namespace kusari::graphs
