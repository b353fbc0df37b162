#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/collectives.h"
#include "kusari/framework/core/dtype.h"
#include "kusari/framework/links/parameter.h"
#include "kusari/optimizers/rule.h"

namespace kusari::detail {

/// Divides the steps of an optimizer, and with them its state, among the ranks of a group: each updates its part of the
/// parameters' elements, and the ranks tell each other what came of it. Parameters of one dtype and device are divided
/// together, some MiB at a time, so that each rank has as many elements as the others.
class StateShards {
 public:
  explicit StateShards(collectives::Group& group) : group_{group} {}

  struct Member {
    Parameter* parameter;
    KernelRule* rule;
    bool is_updated;
  };
  /// Gives each rank its parts of initialised and dense parameters, and leaves it the state of these. `splits`: a
  /// parameter may be divided, else one rank has all of it. Collective where members have come or gone.
  void assign(std::span<const Member> members, bool splits);
  /// Fills what other ranks have of `arrays`: one for each member of the last assign(), in its parameter's memory
  /// order; undefined ones are passed over, by all ranks. Seconds of waiting. Collective.
  double gather(std::span<const Array> arrays);
  /// The state of the rules is whole again, on the root or `everywhere`: until the next assign(). Throws StateError
  /// where some ranks, but not the root, have read another state. Collective.
  void make_whole(std::span<const Member> members, bool everywhere);

  /// What a rank has of a member.
  struct Piece {
    size_t member;
    int rank;
    ParameterPart part;
  };
  using Bucket = std::vector<Piece>;  // ordered by rank
  /// All pieces of the members of the last assign() that are shared; a member's are in one of these.
  const std::vector<Bucket>& buckets() const noexcept { return buckets_; }

 private:
  struct Key {
    const KernelRule* rule;
    bool is_updated;
    int64_t size;
    Strides strides;
    Dtype dtype;
    Device device;
    bool operator==(const Key&) const = default;
  };

  static std::vector<std::vector<size_t>> lists_of(std::span<const Member> members, const std::vector<size_t>& shared);
  void divide(std::span<const Member> members, const std::vector<size_t>& list);
  void hand_out(std::span<const Member> members, const std::vector<std::vector<size_t>>& lists);
  Array whole(const Parameter& parameter, const ParameterPart& part, const Array& own, bool everywhere);

  collectives::Group& group_;
  std::vector<Key> assigned_;
  bool splits_ = true;
  std::vector<Bucket> buckets_;
  std::vector<std::optional<ParameterPart>> own_;  // of each member; none: it has no state
};

/// These elements of a dense array of a whole parameter: the array itself if they are all.
Array part_of(const Array& array, const ParameterPart& part);

}  // namespace kusari::detail
