#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/static_graph/recording.h"

namespace kusari::graphs {

class Instance;

/// Where a model's links and parameters are, to tell whether pointers to them still hold, and which hooks it has.
class KUSARI_API Anatomy {
 public:
  Anatomy() = default;
  /// `model`: null if none is known; then any change of any model counts.
  explicit Anatomy(Link* model);
  bool holds(Link* model);

 private:
  uint64_t version_ = 0;
  std::vector<uint64_t> parts_;
  bool knows_model_ = false;
};

/// "parameter 'W' got another array between a call and its backward".
KUSARI_API std::string replaced_text(const kusari::detail::VariableNode& leaf);

/// What a recording takes for granted about the world around it: the parameters that it read, the memory that was there
/// before, the links that it went through. Asked before every replay.
class KUSARI_API Bindings {
 public:
  Bindings() = default;
  /// Takes the recording's leaves, externals and requirements. `model`: the link that was called, or null when none is
  /// known; `anatomy` of it when it was called.
  Bindings(Recording& recording, Link* model, Anatomy anatomy);

  /// Empty while the recording still describes what the call would do. Otherwise what has changed, for messages: "a
  /// parameter ('W') has another shape". `model`: where the link is now.
  std::string changed(Link* model);
  /// Whether it uses arrays that are no members of a model. That they were replaced shows by nobody but recordings
  /// holding them.
  bool watches_arrays() const noexcept;
  /// Whether a call would write where one of its arguments lies. Passes change the order of kernels as if it did not.
  bool writes_into(std::span<const Variable> inputs) const noexcept;
  /// Gives a new instance the memory of the externals.
  void bind_externals(Instance& instance) const;
  /// The first leaf that has got another array since the instance was given those of all; null if there is none.
  const Recording::Leaf* replaced_leaf(const Instance& instance) const;
  /// Gives an instance the memory of the leaves: before every replay.
  void bind_leaves(Instance& instance) const;

  std::span<const Recording::Leaf> leaves() const noexcept { return leaves_; }

 private:
  /// A parameter or persistent array of the model that the recording uses.
  struct Member {
    const Variable* parameter;
    const kusari::detail::VariableNode* node;
    const Array* persistent;
    uint64_t storage_id;
  };
  struct External {
    std::shared_ptr<const Array> array;  // the only view of all recordings: its storage counts one reference for them
    SlotIndex slot;
    bool is_held_by_us_alone;  // from the beginning
    bool is_member;
  };

  std::string leaf_changed(size_t index) const;
  void find_members(Link* model);

  std::vector<Recording::Leaf> leaves_;
  std::vector<Device> devices_;         // of the leaves
  std::vector<int32_t> first_of_slot_;  // for each leaf, the first leaf of the same slot
  std::vector<External> externals_;
  std::vector<size_t> written_externals_, written_leaves_;
  std::vector<Callable<bool()>> requirements_;
  std::vector<Member> members_;
  Anatomy anatomy_;
  bool needs_anatomy_ = false;
};

}  // namespace kusari::graphs
