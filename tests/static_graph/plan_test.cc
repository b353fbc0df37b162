#include "kusari/framework/static_graph/plan.h"

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/basic_kernels.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/memory.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/static_graph/arena.h"

namespace kusari::graphs {
namespace {

using Kind = LaunchArgument::Kind;
using Place = Plan::Place;

View slot_of(Program& program, Slot::Kind kind, const Shape& shape, Export exported = Export::none) {
  Slot slot;
  slot.kind = kind;
  slot.bytes = static_cast<size_t>(numel(shape)) * 4;
  slot.exported = exported;
  return view_of(program.add_slot(slot), shape, contiguous_strides(shape), Dtype::float32);
}

void add_copy(Program& program, Phase phase, const View& x, const View& y) {
  program.steps.push_back(
      make_step<kernels::Copy>(Device(), phase, {operand_of(Kind::in, x), operand_of(Kind::out, y)}));
}

const Plan::Home& home_of(const Plan& plan, const View& view) { return plan.homes()[static_cast<size_t>(view.slot)]; }

TEST_CASE("a plan says where each slot lies and when it gets its memory") {
  Program program;
  program.name = "Net";
  const View x = slot_of(program, Slot::Kind::input, {100});
  const View w = slot_of(program, Slot::Kind::leaf, {100});
  const View c = slot_of(program, Slot::Kind::constant, {100});
  const View a = slot_of(program, Slot::Kind::intermediate, {100});
  const View b = slot_of(program, Slot::Kind::intermediate, {100});
  const View y = slot_of(program, Slot::Kind::intermediate, {100}, Export::own);
  const View g = slot_of(program, Slot::Kind::intermediate, {100}, Export::own);
  const View kept = slot_of(program, Slot::Kind::intermediate, {100}, Export::arena);
  add_copy(program, Phase::constant, w, c);
  add_copy(program, Phase::forward, x, a);
  add_copy(program, Phase::forward, a, y);
  add_copy(program, Phase::backward, c, b);
  add_copy(program, Phase::backward, b, kept);
  add_copy(program, Phase::backward, b, g);
  const Plan plan(std::move(program));

  CHECK(home_of(plan, x).place == Place::bound);
  CHECK(home_of(plan, w).place == Place::bound);
  CHECK(home_of(plan, c).place == Place::fixed);
  CHECK_FALSE(home_of(plan, c).is_lent);
  CHECK(home_of(plan, a).place == Place::arena);
  CHECK(home_of(plan, y).place == Place::renewed);
  CHECK(home_of(plan, y).phase == Phase::forward);
  CHECK(plan.views()[static_cast<size_t>(home_of(plan, y).whole)] == y);
  CHECK(home_of(plan, g).phase == Phase::backward);
  CHECK(home_of(plan, kept).place == Place::arena);
  CHECK(home_of(plan, kept).is_lent);

  CHECK(home_of(plan, a).offset == home_of(plan, b).offset);  // never in use at once
  CHECK(home_of(plan, kept).offset != home_of(plan, b).offset);
  REQUIRE(plan.memories().size() == 1);
  CHECK(plan.memories()[0].fixed_bytes == 448);  // a multiple of 64
  CHECK(plan.arena_bytes() == 2 * 448);
  CHECK_FALSE(plan.uses_graphs());

  CHECK(plan.steps_of(Phase::constant).end == 1);
  CHECK(plan.steps_of(Phase::forward).begin == 1);
  CHECK(plan.steps_of(Phase::forward).end == 3);
  CHECK(plan.steps_of(Phase::backward).end == 6);
  CHECK(plan.constant_sources() == std::vector<SlotIndex>{w.slot});
}

TEST_CASE("a plan keeps each view once, those of a slot side by side") {
  Program program;
  const View x = slot_of(program, Slot::Kind::input, {2, 3});
  const View y = slot_of(program, Slot::Kind::intermediate, {2, 3}, Export::own);
  View row = y;
  row.shape = {3};
  row.strides = {1};
  row.offset = 12;
  using AddKernel = kernels::Pointwise<kernels::Add>;
  add_copy(program, Phase::forward, x, y);
  program.steps.push_back(make_step<AddKernel>(
      Device(), Phase::forward,
      {params_of(kernels::Add{}), operand_of(Kind::in, row), operand_of(Kind::in, x), operand_of(Kind::out, y)}));
  const Plan plan(std::move(program));
  REQUIRE(plan.views().size() == 3);
  CHECK(home_of(plan, x).end - home_of(plan, x).begin == 1);
  CHECK(home_of(plan, y).end - home_of(plan, y).begin == 2);
  std::vector<View> operands;
  for (const int32_t index : plan.operand_views()) operands.push_back(plan.views()[static_cast<size_t>(index)]);
  CHECK(operands == std::vector<View>{x, y, row, x, y});
}

TEST_CASE("an exported slot of which no view shows all has no view of the whole") {
  Program program;
  const View x = slot_of(program, Slot::Kind::input, {2});
  View half = slot_of(program, Slot::Kind::intermediate, {4}, Export::own);
  half.shape = {2};
  add_copy(program, Phase::forward, x, half);
  const Plan plan(std::move(program));
  CHECK(home_of(plan, half).place == Place::renewed);
  CHECK(home_of(plan, half).whole == -1);
}

TEST_CASE("a plan refuses steps whose phase is over") {
  Program program;
  program.name = "Net";
  const View x = slot_of(program, Slot::Kind::input, {2});
  const View y = slot_of(program, Slot::Kind::intermediate, {2});
  add_copy(program, Phase::backward, x, y);
  add_copy(program, Phase::forward, x, y);
  CHECK_THROWS_WITH_AS(Plan(std::move(program)),
                       "Plan: step 1 ('copy') of static graph 'Net' belongs to a phase that is over", StateError);
}

TEST_CASE("the texts of stale arrays are kept once") {
  CHECK(stale_text("Net") == stale_text(std::string("N") + "et"));
  CHECK(stale_text("Net") != stale_text("Other"));
  CHECK(std::string(stale_text("Net")).find("'Net'") != std::string::npos);
}

TEST_CASE("an arena goes with the last of its storages") {
  const int64_t before = memory::statistics().allocated;
  kusari::detail::Storage* storage = nullptr;
  {
    const IntrusivePtr<Arena> arena = Arena::create(Device(), 1 << 20);
    storage = make_storage(Device(), arena->data() + 64, 128, arena.get());
  }
  CHECK(storage->id != 0);
  CHECK(memory::statistics().allocated - before >= 1 << 20);
  storage->release();
  CHECK(memory::statistics().allocated == before);
}

TEST_CASE("scratch grows to the largest demand and stays where it is otherwise") {
  Scratch scratch;
  char* const first = scratch.reserve(Device(), 1000);
  CHECK(scratch.reserve(Device(), 500) == first);
  const int64_t before = memory::statistics().allocated;
  char* const second = scratch.reserve(Device(), 100'000);
  second[99'999] = 1;
  CHECK(memory::statistics().allocated - before < 110'000);
  CHECK(scratch.reserve(Device(), 1000) == second);
}

}  // namespace
}  // namespace kusari::graphs
