#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/array.h"
#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/intrusive_ptr.h"
#include "kusari/framework/static_graph/program.h"

namespace kusari::graphs {

/// What a Recorder saw of a call: its program, and what the program's slots are to the rest of the process.
///
/// Slots of kind input cover the elements of one argument exactly: byte 0 of the slot is the lowest address of its
/// elements, wherever they lie in their storage. All other slots cover storages as they are.
struct Recording {
  /// A variable that requires a gradient and was computed by nobody: a parameter. The vertex without a handle, so that
  /// node->handles() == 0 tells that its owner dropped it. Two leaves may share a slot.
  struct Leaf {
    IntrusivePtr<kusari::detail::VariableNode> node;
    View view;
  };
  /// Memory that was there before, held here.
  struct External {
    Array array;
    SlotIndex slot = kNoSlot;
    /// Numbers that one of our own functions worked out on the host from shapes and options: held here alone.
    bool is_constant = false;
    bool is_written = false;
  };
  struct Report {
    const void* observer = nullptr;
    std::string key;
    double weight = 1;
    View value;
  };
  /// A member of a link that each call sets (GraphCapture::kept), as it was set last.
  struct Kept {
    Variable* member = nullptr;
    View value;
    /// Tells which output it is; not to be looked into.
    const kusari::detail::VariableNode* node = nullptr;
  };
  /// An array that the call computed, or got, and that somebody beside its caller holds. If the call
  /// reads it the next time, it keeps state, which replays would not see: so a call with escapes is recorded once more
  /// (Recorder's earlier_escapes) before it is replayed.
  struct Escape {
    SlotIndex slot = kNoSlot;
    uint64_t storage_id = 0;
    std::string function;  ///< that was running when its memory was allocated: "F::linear", or "" for none
  };

  Program program;
  std::vector<View> inputs;  ///< of the call, in order
  std::vector<Leaf> leaves;  ///< in order of first use
  std::vector<External> externals;
  std::vector<Report> reports;
  std::vector<Kept> kept;
  std::vector<Escape> escapes;
  std::vector<Callable<void()>> before, after;  ///< of GraphCapture::on_replay
  std::vector<Callable<bool()>> requirements;

  // Filled in by who records, with what Recorder::exported and input return.
  std::vector<View> outputs;           ///< of forward
  std::vector<View> output_gradients;  ///< inputs of the backward phase; undefined where none came
  std::vector<View> gradients;         ///< of the inputs, then of the leaves; undefined where none
};

}  // namespace kusari::graphs
