#include "kusari/framework/static_graph/passes/fuse_pointwise.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "kusari/framework/kernels/fused_pointwise.h"
#include "kusari/framework/static_graph/passes/dependencies.h"
#include "kusari/framework/static_graph/passes/pointwise_step.h"

namespace kusari::graphs {
namespace {

using Builder = FusedProgramBuilder;
using kernels::FusedProgram;

/// Steps and open groups that are looked back at: what is further away is rarely related, and would live long.
constexpr int kWindow = 64;
constexpr size_t kOpenGroups = 6;
/// Steps that have no array in common are put together while both are as small as this, or neighbours.
constexpr int64_t kSmallElements = 65536;
/// Elements times steps from which on a fused step of dense arrays beats the separate ones on the CPU.
constexpr int64_t kLeastWork = 16384;

/// Slots that a step or several read and write.
struct Uses {
  std::vector<SlotIndex> reads, writes;

  void add(const Step& step) {
    for_each_read(step, [&](const View& view) { insert(reads, view.slot); });
    for_each_write(step, [&](const View& view) { insert(writes, view.slot); });
  }
  /// Whether the order of the two matters.
  bool conflicts(const Uses& other) const {
    return meet(writes, other.writes) || meet(writes, other.reads) || meet(reads, other.writes);
  }

 private:
  static void insert(std::vector<SlotIndex>& slots, SlotIndex slot) {
    const auto at = std::lower_bound(slots.begin(), slots.end(), slot);
    if (at == slots.end() || *at != slot) slots.insert(at, slot);
  }
  static bool meet(const std::vector<SlotIndex>& a, const std::vector<SlotIndex>& b) {
    for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
      if (a[i] == b[j]) return true;
      a[i] < b[j] ? ++i : ++j;
    }
    return false;
  }
};

/// Steps that are to become one.
class Group {
 public:
  Group(const Program& program, const Dependencies& dependencies, int position)
      : program_{&program}, dependencies_{&dependencies}, position_{position} {}

  int position() const { return position_; }
  void move_to(int position) { position_ = position; }
  const Uses& uses() const { return uses_; }
  const std::vector<int>& members() const { return members_; }
  int64_t elements() const { return elements_; }

  /// Whether the step's elements are the group's.
  bool fits(const PointwiseStep& step) const {
    if (is_flat_ && step.is_flat && step.elements == elements_) return true;
    return is_uniform_ && step.write.shape == first_.shape && has_order_of(step.write, first_);
  }
  /// Whether the step reads or overwrites a result.
  bool is_connected(const PointwiseStep& step) const {
    return std::any_of(results_.begin(), results_.end(), [&](const Result& result) {
      return result.view.slot == step.write.slot ||
             std::any_of(step.reads.begin(), step.reads.end(),
                         [&](const View& view) { return view.slot == result.view.slot; });
    });
  }

  /// Adds step number `index`, which fits. False when it cannot be; then the group must not be used any longer.
  bool add(int index, const PointwiseStep& step) {
    if (members_.empty()) {
      first_ = step.write;
      elements_ = step.elements;
    }
    is_flat_ = is_flat_ && step.is_flat && step.elements == elements_;
    is_uniform_ = is_uniform_ && step.write.shape == first_.shape &&
                  (!step.is_flat || !is_flat_ || has_order_of(step.write, first_));
    const std::optional<Builder::Value> value = compute(step);
    if (!value || !is_writable(step.write, *value)) return false;
    members_.push_back(index);
    uses_.add(program_->steps[static_cast<size_t>(index)]);
    std::erase_if(results_, [&](const Result& result) { return same(result.view, step.write); });
    results_.push_back({step.write, *value});
    const std::vector<const Result*> outputs = needed();
    return outputs.size() <= FusedProgram::kMaxOutputs &&
           static_cast<int>(outputs.size()) + builder_.inputs() <= FusedProgram::kMaxOperands;
  }

  /// Whether one step is faster than the members are. On the CPU it costs some 20 ns more than a launch does and saves
  /// some 5 ns for each, so that it must save what goes through memory, or the planning of strided loops.
  bool pays() const {
    if (members_.size() == 1) return false;
    if (!program_->steps[static_cast<size_t>(members_[0])].device.is_cpu()) return true;
    const auto count = static_cast<int64_t>(members_.size());
    return elements_ >= (kLeastWork + count - 1) / count || (!is_flat_ && count > 2);
  }
  /// Whether anybody reads a result.
  bool is_needed() const { return !needed().empty(); }
  Step fused() const {
    std::vector<View> inputs, outputs;
    std::vector<Builder::Value> values;
    for (const Input& input : inputs_) inputs.push_back(is_flat_ ? flattened(input.view, elements_) : input.view);
    for (const Result* result : needed()) {
      outputs.push_back(is_flat_ ? flattened(result->view, elements_) : result->view);
      values.push_back(result->value);
    }
    const Step& first = program_->steps[static_cast<size_t>(members_[0])];
    Step step = make_step<kernels::FusedPointwise>(
        first.device, first.phase,
        {params_of(builder_.finish(values)), operand_of(LaunchArgument::Kind::in_list, std::move(inputs)),
         operand_of(LaunchArgument::Kind::out_list, std::move(outputs))});
    for (const int member : members_) {
      if (!step.fused.empty()) step.fused += ", ";
      step.fused += program_->steps[static_cast<size_t>(member)].name;
    }
    return step;
  }

 private:
  struct Input {
    View view;
    Dtype held;
    Builder::Value value;
  };
  struct Result {
    View view;
    Builder::Value value;
  };

  bool same(const View& a, const View& b) const {
    if (is_flat_) return is_same_view(flattened(a, elements_), flattened(b, elements_));
    // A row and a column of the same elements broadcast differently.
    for (int axis = 1; axis <= std::min(a.shape.ndim(), b.shape.ndim()); ++axis) {
      if (a.shape[a.shape.ndim() - axis] != b.shape[b.shape.ndim() - axis]) return false;
    }
    return is_same_view(a, b);
  }

  /// What the view holds at this point, as an index into results_ (from 0 on) or inputs_ (-1 downwards).
  std::optional<int> find(const View& view, Dtype held) {
    for (size_t r = 0; r < results_.size(); ++r) {
      if (same(results_[r].view, view)) return static_cast<int>(r);
      if (!is_disjoint(results_[r].view, view)) return std::nullopt;
    }
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].held == held && same(inputs_[i].view, view)) return -1 - static_cast<int>(i);
    }
    const std::optional<Builder::Value> value = builder_.input(view.dtype, held);
    if (!value) return std::nullopt;
    inputs_.push_back({view, held, *value});
    return -static_cast<int>(inputs_.size());
  }
  Builder::Value& at(int found) {
    return found >= 0 ? results_[static_cast<size_t>(found)].value : inputs_[static_cast<size_t>(-1 - found)].value;
  }

  std::optional<Builder::Value> compute(const PointwiseStep& step) {
    if (step.kind == PointwiseStep::Kind::fill) return builder_.fill(step.bytes, step.write.dtype);
    if (step.kind == PointwiseStep::Kind::copy) {
      const std::optional<int> x = find(step.reads[0], Builder::natural(step.reads[0].dtype));
      return x ? builder_.copy(at(*x), step.write.dtype) : std::nullopt;
    }
    std::vector<Dtype> dtypes;
    for (const View& view : step.reads) dtypes.push_back(view.dtype);
    const Dtype held = Builder::compute_dtype(dtypes, step.write.dtype);
    if (held == Dtype::int64 && !step.functor->takes_integers) return std::nullopt;
    std::vector<int> found;
    for (const View& view : step.reads) {
      const std::optional<int> x = find(view, held);
      if (!x) return std::nullopt;
      found.push_back(*x);
    }
    std::vector<Builder::Value*> operands;
    for (const int x : found) operands.push_back(&at(x));
    return builder_.pointwise(*step.functor, step.bytes, operands, held, step.write.dtype);
  }

  /// Whether writing the value to the view disturbs nothing of the group. What has been read there must have been read
  /// element by element, no copy of it be still to be written, and the value be newer.
  bool is_writable(const View& view, const Builder::Value& value) const {
    for (const Input& input : inputs_) {
      if (input.view.slot != view.slot || is_disjoint(input.view, view)) continue;
      if (!same(input.view, view) || value.number != builder_.ops() - 1) return false;
      for (const Result& result : results_) {
        if (result.value.number == input.value.number) return false;
      }
    }
    return std::all_of(results_.begin(), results_.end(),
                       [&](const Result& result) { return same(result.view, view) || is_disjoint(result.view, view); });
  }

  /// The results that somebody else reads.
  std::vector<const Result*> needed() const {
    std::vector<const Result*> found;
    for (const Result& result : results_) {
      const SlotIndex index = result.view.slot;
      const Slot& slot = program_->slots[static_cast<size_t>(index)];
      bool is_needed = slot.kind != Slot::Kind::intermediate || slot.exported != Export::none;
      for (const Access& access : dependencies_->accesses(index)) {
        if (is_needed) break;
        is_needed = access.reads && std::find(members_.begin(), members_.end(), access.step) == members_.end();
      }
      if (is_needed) found.push_back(&result);
    }
    return found;
  }

  const Program* program_;
  const Dependencies* dependencies_;
  int position_;  // where the fused step goes: the number of a member
  std::vector<int> members_;
  Uses uses_;
  Builder builder_;
  std::vector<Input> inputs_;
  std::vector<Result> results_;  // the last one for each place in memory
  View first_;                   // what the first member writes
  int64_t elements_ = 0;
  bool is_flat_ = true;     // all members are, and have as many elements
  bool is_uniform_ = true;  // all members have one shape and memory order
};

class Fusion {
 public:
  explicit Fusion(const Program& program) : program_{program}, dependencies_{program} {
    units_.resize(program.steps.size());
  }

  /// The groups, and for every step the one that it is in (-1: none).
  void find_groups() {
    for (int t = 0; t < static_cast<int>(program_.steps.size()); ++t) {
      const Step& step = program_.steps[static_cast<size_t>(t)];
      Unit& unit = units_[static_cast<size_t>(t)];
      unit.uses.add(step);
      if (step.is_code() || (t > 0 && step.phase != program_.steps[static_cast<size_t>(t) - 1].phase)) open_.clear();
      if (step.is_code() || step.device.backend().find(kernel_id<kernels::FusedPointwise>()) == nullptr) continue;
      const std::optional<PointwiseStep> pointwise = pointwise_step(step);
      if (!pointwise) continue;
      if (join(t, step, *pointwise, true) || join(t, step, *pointwise, false)) continue;
      Group group(program_, dependencies_, t);
      if (!group.add(t, *pointwise)) continue;
      unit.group = static_cast<int>(groups_.size());
      groups_.push_back(std::move(group));
      open_.push_back(unit.group);
      if (open_.size() > kOpenGroups) open_.erase(open_.begin());
    }
  }

  /// The steps in their new order: groups that are no single step stay together, as what is around them was moved past
  /// all of them.
  std::vector<Step> steps(FusedGroups which) const {
    std::vector<Step> result;
    for (size_t t = 0; t < units_.size(); ++t) {
      const Unit& unit = units_[t];
      if (unit.group < 0) {
        result.push_back(program_.steps[t]);
        continue;
      }
      const Group& group = groups_[static_cast<size_t>(unit.group)];
      if (group.position() != static_cast<int>(t)) continue;
      if (!is_fused(group, which)) {
        for (const int member : group.members()) result.push_back(program_.steps[static_cast<size_t>(member)]);
      } else if (group.is_needed()) {
        result.push_back(group.fused());
      }
    }
    return result;
  }

  const std::vector<Group>& groups() const { return groups_; }
  static bool is_fused(const Group& group, FusedGroups which) {
    return which == FusedGroups::all ? group.members().size() > 1 : group.pays();
  }

 private:
  /// A step, or the group that is placed where the step is.
  struct Unit {
    Uses uses;       // of the step
    int group = -1;  // that the step is in
  };

  /// Puts step t into an open group: one whose results it uses, or any other.
  bool join(int t, const Step& step, const PointwiseStep& pointwise, bool connected) {
    for (size_t k = open_.size(); k-- > 0;) {
      const int number = open_[k];
      Group& group = groups_[static_cast<size_t>(number)];
      const Step& member = program_.steps[static_cast<size_t>(group.members()[0])];
      if (t - group.position() > kWindow || step.device != member.device || !group.fits(pointwise)) continue;
      if (group.is_connected(pointwise) != connected) continue;
      if (!connected && group.elements() > kSmallElements && !is_empty_between(group.position(), t)) continue;
      const Uses& uses = units_[static_cast<size_t>(t)].uses;
      const bool is_hoisted = is_free_between(group.position(), t, uses, number);
      if (!is_hoisted && !is_free_between(group.position(), t, group.uses(), number)) continue;
      Group with = group;
      if (!with.add(t, pointwise)) continue;
      if (!is_hoisted) with.move_to(t);
      group = std::move(with);
      units_[static_cast<size_t>(t)].group = number;
      return true;
    }
    return false;
  }

  /// What is placed where step i was: nullptr if that has gone elsewhere.
  const Uses* placed(int i) const {
    const Unit& unit = units_[static_cast<size_t>(i)];
    if (unit.group < 0) return &unit.uses;
    const Group& group = groups_[static_cast<size_t>(unit.group)];
    return group.position() == i ? &group.uses() : nullptr;
  }
  bool is_empty_between(int after, int before) const {
    for (int i = after + 1; i < before; ++i) {
      if (placed(i) != nullptr) return false;
    }
    return true;
  }
  /// Whether something with these uses, of the group or about to join it, may be moved from one place to the other.
  bool is_free_between(int after, int before, const Uses& uses, int group) const {
    for (int i = after + 1; i < before; ++i) {
      if (units_[static_cast<size_t>(i)].group == group) continue;
      const Uses* const other = placed(i);
      if (other != nullptr && other->conflicts(uses)) return false;
    }
    return true;
  }

  const Program& program_;
  Dependencies dependencies_;
  std::vector<Unit> units_;
  std::vector<Group> groups_;
  std::vector<int> open_;  // groups that may grow, the youngest last
};

/// Lets the backend compile what it must before the first launch. Arrays stand for the step's, at made-up addresses
/// that are aligned as theirs will be.
void prepare(Step& step) {
  if (step.device.backend().find(kernel_id<kernels::PrepareFusedPointwise>()) == nullptr) return;
  const auto stand_ins = [&](const Operand& operand) {
    constexpr uintptr_t kAligned = 4096;
    std::vector<Array> arrays;
    for (const View& view : operand.views) {
      void* const address = reinterpret_cast<void*>(kAligned + static_cast<uintptr_t>(view.offset));
      arrays.push_back(from_external(
          address, view.shape, view.strides, view.dtype, step.device, [](void*) {}, nullptr));
    }
    return arrays;
  };
  const std::vector<Array> inputs = stand_ins(step.operands[1]), outputs = stand_ins(step.operands[2]);
  FusedProgram program = step.params<FusedProgram>(0);
  launch<kernels::PrepareFusedPointwise>(step.device, &program, InList(inputs), OutList(outputs));
  step.operands[0] = params_of(program);
}

}  // namespace

int fuse_pointwise(Program& program, PassLog& log, FusedGroups which) {
  Fusion fusion(program);
  fusion.find_groups();
  int fused = 0, replaced = 0;
  for (const Group& group : fusion.groups()) {
    if (!Fusion::is_fused(group, which)) continue;
    fused += 1;
    replaced += static_cast<int>(group.members().size());
  }
  if (fused == 0) return 0;
  program.steps = fusion.steps(which);
  for (Step& step : program.steps) {
    if (step.id.index == kernel_id<kernels::FusedPointwise>().index) prepare(step);
  }
  log.entries.push_back(
      {"fuse_pointwise", "fused " + std::to_string(replaced) + " kernels into " + std::to_string(fused)});
  return fused;
}

}  // namespace kusari::graphs
