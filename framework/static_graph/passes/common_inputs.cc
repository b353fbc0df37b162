#include "kusari/framework/static_graph/passes/common_inputs.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <unordered_map>
#include <vector>

#include "kusari/framework/static_graph/memory_planner.h"
#include "kusari/framework/static_graph/passes/dependencies.h"

namespace kusari::graphs {

namespace {

using Kind = LaunchArgument::Kind;

/// Bytes in use at each step, kept right while results take the place of others.
class LiveBytes {
 public:
  explicit LiveBytes(const Program& program)
      : lives_{lifetimes(program)}, bytes_(std::max<size_t>(program.steps.size(), 1) + 1) {
    for (const Lifetime& life : lives_) {
      if (life.bytes == 0) continue;
      bytes_[static_cast<size_t>(life.first)] += life.bytes;
      bytes_[static_cast<size_t>(life.last) + 1] -= life.bytes;  // sums of unsigned numbers come out right
    }
    std::partial_sum(bytes_.begin(), bytes_.end(), bytes_.begin());
    peak_ = *std::ranges::max_element(bytes_);
  }

  /// Whether `kept` may live on for the readers of `dropped` without needing more memory than the program does now.
  bool can_replace(SlotIndex dropped, SlotIndex kept) const {
    const Lifetime& from = lives_[static_cast<size_t>(dropped)];
    const Lifetime& to = lives_[static_cast<size_t>(kept)];
    for (int32_t i = to.last + 1; i < from.first; ++i) {
      if (bytes_[static_cast<size_t>(i)] + to.bytes > peak_) return false;
    }
    for (int32_t i = std::max(to.last + 1, from.first); i <= from.last; ++i) {
      if (bytes_[static_cast<size_t>(i)] - from.bytes + to.bytes > peak_) return false;
    }
    return true;
  }
  void replace(SlotIndex dropped, SlotIndex kept) {
    Lifetime& from = lives_[static_cast<size_t>(dropped)];
    Lifetime& to = lives_[static_cast<size_t>(kept)];
    for (int32_t i = from.first; i <= from.last; ++i) bytes_[static_cast<size_t>(i)] -= from.bytes;
    for (int32_t i = to.last + 1; i <= from.last; ++i) bytes_[static_cast<size_t>(i)] += to.bytes;
    to.last = std::max(to.last, from.last);
    from = {};
  }

 private:
  std::vector<Lifetime> lives_;
  std::vector<size_t> bytes_;
  size_t peak_ = 0;
};

class Hash {
 public:
  void add(uint64_t word) noexcept {
    value_ = (value_ ^ word) * 0x9E3779B97F4A7C15u;
    value_ ^= value_ >> 29;
  }
  void add(const Dims& dims) noexcept {
    for (const int64_t d : dims) add(static_cast<uint64_t>(d));
  }
  uint64_t value() const noexcept { return value_; }

 private:
  uint64_t value_ = 0;
};

class CommonInputs {
 public:
  explicit CommonInputs(Program& program)
      : program_{program},
        dependencies_{program},
        live_{program},
        versions_(program.slots.size()),
        replaced_(program.slots.size(), kNoSlot) {}

  int run() {
    std::vector<bool> is_dropped(program_.steps.size());
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      Step& step = program_.steps[i];
      // Between the phases the program that replays does what it likes.
      if (i > 0 && program_.steps[i - 1].phase != step.phase) note_code();
      redirect(step);
      if (is_repeatable(program_, dependencies_, step)) {
        const uint64_t key = key_of(step);
        const auto [begin, end] = seen_.equal_range(key);
        const auto found = std::find_if(begin, end, [&](const auto& entry) { return equals(entry.second, i); });
        if (found != end && replace(step, program_.steps[found->second.step])) {
          is_dropped[i] = true;
          continue;
        }
        if (found == end) seen_.emplace(key, Seen{i, versions_read(step)});
      }
      note_writes(step);
    }
    return erase_steps(program_, is_dropped);
  }

 private:
  struct Seen {
    size_t step;
    std::vector<uint32_t> versions;  // of the slots that it reads, in order
  };

  void redirect(Step& step) const {
    for (Operand& operand : step.operands) {
      for (View& view : operand.views) {
        if (!view.is_defined()) continue;
        const SlotIndex by = replaced_[static_cast<size_t>(view.slot)];
        if (by != kNoSlot) view.slot = by;
      }
    }
  }

  static bool is_output(const Operand& operand) { return operand.kind == Kind::out || operand.kind == Kind::out_list; }

  uint64_t key_of(const Step& step) const {
    Hash hash;
    hash.add(static_cast<uint64_t>(step.id.index));
    for (const Operand& operand : step.operands) {
      hash.add(static_cast<uint64_t>(operand.kind));
      for (const std::byte byte : operand.bytes) hash.add(static_cast<uint64_t>(byte));
      for (const View& view : operand.views) {
        if (!is_output(operand)) {
          hash.add(static_cast<uint64_t>(view.slot));
          hash.add(static_cast<uint64_t>(view.offset));
          if (view.is_defined()) hash.add(versions_[static_cast<size_t>(view.slot)]);
        }
        hash.add(static_cast<uint64_t>(view.dtype));
        hash.add(view.shape);
      }
    }
    return hash.value();
  }

  std::vector<uint32_t> versions_read(const Step& step) const {
    std::vector<uint32_t> versions;
    for_each_read(step, [&](const View& view) { versions.push_back(versions_[static_cast<size_t>(view.slot)]); });
    return versions;
  }

  bool equals(const Seen& seen, size_t later) const {
    const Step& a = program_.steps[seen.step];
    const Step& b = program_.steps[later];
    if (a.id.index != b.id.index || a.kernel != b.kernel || a.device != b.device) return false;
    if (a.operands.size() != b.operands.size() || seen.versions != versions_read(b)) return false;
    for (size_t i = 0; i < a.operands.size(); ++i) {
      const Operand &x = a.operands[i], &y = b.operands[i];
      if (x.kind != y.kind || x.bytes != y.bytes || x.views.size() != y.views.size()) return false;
      for (size_t j = 0; j < x.views.size(); ++j) {
        View view = y.views[j];
        if (is_output(x) && view.is_defined() && x.views[j].is_defined()) {
          view.slot = x.views[j].slot;
          view.offset = x.views[j].offset;
        }
        if (x.views[j] != view) return false;
      }
    }
    return true;
  }

  /// Lets later readers of what `step` writes read what `earlier` has written.
  bool replace(const Step& step, const Step& earlier) {
    std::vector<View> from, to;
    for_each_write(step, [&](const View& view) { from.push_back(view); });
    for_each_write(earlier, [&](const View& view) { to.push_back(view); });
    for (size_t i = 0; i < from.size(); ++i) {
      if (!live_.can_replace(from[i].slot, to[i].slot)) return false;
    }
    for (size_t i = 0; i < from.size(); ++i) {
      live_.replace(from[i].slot, to[i].slot);
      replaced_[static_cast<size_t>(from[i].slot)] = to[i].slot;
    }
    return true;
  }

  void note_code() {
    for (size_t slot = 0; slot < versions_.size(); ++slot) {
      if (dependencies_.is_reachable(static_cast<SlotIndex>(slot))) ++versions_[slot];
    }
  }
  void note_writes(const Step& step) {
    if (step.is_code()) note_code();
    for_each_write(step, [&](const View& view) { ++versions_[static_cast<size_t>(view.slot)]; });
  }

  Program& program_;
  Dependencies dependencies_;  // of the program as it came: who writes a slot does not change
  LiveBytes live_;
  std::vector<uint32_t> versions_;
  std::vector<SlotIndex> replaced_;  // of each slot: what is read instead, or kNoSlot
  std::unordered_multimap<uint64_t, Seen> seen_;
};

}  // namespace

int common_inputs(Program& program, PassLog& log) {
  const int dropped = CommonInputs(program).run();
  if (dropped > 0) {
    log.entries.push_back({"common_inputs", "dropped " + std::to_string(dropped) + " that repeat an earlier one"});
  }
  return dropped;
}

}  // namespace kusari::graphs
