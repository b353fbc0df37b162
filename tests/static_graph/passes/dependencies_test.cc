#include "kusari/framework/static_graph/passes/dependencies.h"

#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/tests/static_graph/program_testing.h"

namespace kusari::graphs {
namespace {

using kernels::Add;
using kernels::Neg;

TEST_CASE("Dependencies tells who reads and writes a slot") {
  ProgramBuilder b;
  const View x = b.input({3}), y = b.result({3});
  const View a = b.pointwise(Neg{}, x);     // 0
  const View c = b.pointwise(Add{}, a, a);  // 1
  b.code([] {});                            // 2
  b.pointwise_to(a, Add{}, a, c);           // 3
  b.pointwise_to(y, Add{}, a, x);           // 4
  const Dependencies d(b.program);

  REQUIRE(d.accesses(a.slot).size() == 4);
  const Access changes = d.accesses(a.slot)[2];
  CHECK(changes.step == 3);
  CHECK(changes.reads);
  CHECK(changes.writes);
  CHECK(d.count_reads(a.slot) == 3);
  CHECK(d.count_writes(a.slot) == 2);
  CHECK(d.is_written_between(a.slot, 0, 4));
  CHECK_FALSE(d.is_written_between(a.slot, 0, 3));
  CHECK_FALSE(d.is_written_between(a.slot, 3, 4));
  CHECK(d.is_used_between(a.slot, 0, 2));
  CHECK_FALSE(d.is_used_between(a.slot, 1, 3));
  CHECK(d.last_write_before(a.slot, 3) == 0);
  CHECK(d.last_write_before(a.slot, 4) == 3);
  CHECK(d.last_write_before(a.slot, 0) == -1);

  CHECK(d.only_reader(c.slot) == 3);
  CHECK(d.only_reader(a.slot) == -1);
  CHECK(d.only_reader(x.slot) == -1);

  // Code on the host may use what the host can reach.
  CHECK(d.is_reachable(x.slot));
  CHECK(d.is_reachable(y.slot));
  CHECK_FALSE(d.is_reachable(c.slot));
  CHECK(d.is_written_between(x.slot, 0, 4));
  CHECK(d.last_write_before(y.slot, 4) == 2);
  CHECK(d.count_reads(c.slot) == 1);
}

TEST_CASE("bytes_of, is_whole and may_overlap") {
  ProgramBuilder b;
  const View x = b.temporary({2, 3}), z = b.temporary({2, 3});
  CHECK(bytes_of(x).begin == 0);
  CHECK(bytes_of(x).end == 24);
  CHECK(is_whole(b.program, x));
  View v = x;
  SUBCASE("transposed") {
    v.shape = {3, 2};
    v.strides = {1, 3};
    CHECK(is_whole(b.program, v));
    CHECK(may_overlap(v, x));
    CHECK_FALSE(may_overlap(v, z));
  }
  SUBCASE("a part") {
    v.shape = {1, 3};
    CHECK(bytes_of(v).end == 12);
    CHECK_FALSE(is_whole(b.program, v));
    View rest = v;
    rest.offset = 12;
    CHECK_FALSE(may_overlap(v, rest));
    CHECK(may_overlap(rest, x));
  }
  SUBCASE("reversed") {
    v.strides = {-3, -1};
    v.offset = 20;
    CHECK(bytes_of(v).begin == 0);
    CHECK(bytes_of(v).end == 24);
  }
  SUBCASE("elements met twice") {
    v.strides = {2, 1};  // 0 1 2, 2 3 4
    v.shape = {2, 3};
    CHECK_FALSE(is_whole(b.program, v));
    v.shape = {6};
    v.strides = {0};
    CHECK(bytes_of(v).end == 4);
    CHECK_FALSE(is_whole(b.program, v));
    v.shape = {2, 2, 2};  // as many places as elements would need, some twice
    v.strides = {1, 1, 3};
    CHECK_FALSE(is_whole(b.program, v));
  }
  SUBCASE("no elements") {
    v.shape = {0, 3};
    CHECK(bytes_of(v).begin == bytes_of(v).end);
    CHECK_FALSE(may_overlap(v, x));
  }
}

TEST_CASE("erase_steps keeps the order") {
  ProgramBuilder b;
  const View x = b.input({3});
  for (int i = 0; i < 4; ++i) b.pointwise(Neg{}, x);
  CHECK(erase_steps(b.program, {true, false, true, false}) == 2);
  REQUIRE(b.program.steps.size() == 2);
  CHECK(b.program.steps[0].operands.back().views[0].slot == 2);
  CHECK(b.program.steps[1].operands.back().views[0].slot == 4);
}

}  // namespace
}  // namespace kusari::graphs
