#pragma once

#include <atomic>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/intrusive_ptr.h"
#include "kusari/framework/core/reference_count.h"
#include "kusari/framework/core/small_vector.h"

namespace kusari {

class FunctionNode;
class Variable;

/// Options of Variable::backward.
struct BackwardOptions {
  /// Keep the gradients of intermediate variables, which are dropped otherwise.
  bool retain_grad = false;
  /// Record the backward computation, so that gradients can be differentiated again.
  bool enable_double_backprop = false;
  /// Factor of the seed when the root has no gradient yet; leaves remember it for their update rule.
  std::optional<double> loss_scale = std::nullopt;
  /// The same factor as one float64 element in the memory of the root's device, where loss scaling keeps it, instead of
  /// `loss_scale`.
  Array device_loss_scale = {};
  /// Free what each function kept as soon as its gradients are computed, so that the peak of memory is that of the
  /// forward computation. Going backward through the graph again then throws StateError.
  bool release_graph = false;
};

namespace detail {

// The references to a vertex and, among them, the handles: the Variables that name it. Threads that compute with one
// model share the vertices of its parameters, so the counts change in one atomic step.
class VertexCounts {
 public:
  [[gnu::always_inline]] void retain() noexcept { add_references(counts_, kReference); }
  [[gnu::always_inline]] void add_handle() noexcept { add_references(counts_, kReference + kHandle); }
  /// Whether it was the last reference.
  bool release() noexcept { return drop_reference(counts_); }

  enum class Left : uint8_t {
    handles,  ///< others name the vertex
    graph,    ///< nobody names it any more; the handle's reference is still counted
    nothing,  ///< it was the last reference
  };
  /// What is left without one of the handles.
  Left drop_handle() noexcept {
    uint64_t seen = counts_.load(std::memory_order_acquire);
    for (;;) {
      if (seen == kReference + kHandle) return Left::nothing;
      const bool is_last = seen >> kHandleBits == 1;
      if (replace_count(counts_, seen, seen - (is_last ? kHandle : kReference + kHandle))) {
        return is_last ? Left::graph : Left::handles;
      }
    }
  }
  uint32_t references() const noexcept { return static_cast<uint32_t>(counts_.load(std::memory_order_acquire)); }
  uint32_t handles() const noexcept {
    return static_cast<uint32_t>(counts_.load(std::memory_order_acquire) >> kHandleBits);
  }

 private:
  static constexpr int kHandleBits = 32;
  static constexpr uint64_t kReference = 1, kHandle = uint64_t{1} << kHandleBits;

  std::atomic<uint64_t> counts_{0};
};

// A vertex of the graph. When the last Variable that names it goes, the gradient goes, and the array too unless a
// function retained it, while the vertex stays as long as the graph needs it. One thread owns a graph; a leaf may be in
// the graphs of several threads, which then count it, read its array and nothing else.
class KUSARI_API VariableNode {
 public:
  static void* operator new(size_t bytes) { return memory::allocate(bytes); }
  static void operator delete(void* node, size_t bytes) noexcept { memory::deallocate(node, bytes); }

  VariableNode(Array data, bool needs_grad) noexcept;  // in function_node.h, which knows what a creator is
  VariableNode(const VariableNode&) = delete;
  VariableNode& operator=(const VariableNode&) = delete;
  ~VariableNode();

  void retain() noexcept { counts.retain(); }
  void release() noexcept {
    if (counts.release()) destroy();
  }
  void add_handle() noexcept { counts.add_handle(); }
  void drop_handle() noexcept {
    const VertexCounts::Left left = counts.drop_handle();
    if (left == VertexCounts::Left::handles) return;
    if (left == VertexCounts::Left::nothing) return destroy();
    last_handle_gone();
    release();
  }
  uint32_t references() const noexcept { return counts.references(); }
  uint32_t handles() const noexcept { return counts.handles(); }

  /// Of the array, also when it is gone. Throw StateError when there never was one.
  const Shape& shape() const { return array.is_defined() ? array.shape() : remembered().shape; }
  Dtype dtype() const { return array.is_defined() ? array.dtype() : remembered().dtype; }
  bool is_leaf() const noexcept { return !creator; }

  /// What few vertices need: kept apart to keep the others small.
  struct Saved {
    Shape shape;
    Dtype dtype = Dtype::float32;
    Device device;
    double loss_scale = 1;
    Array device_loss_scale;  // instead of loss_scale, if defined
    std::string name;
  };
  Saved& saved_state();

  VertexCounts counts;
  Array array;
  IntrusivePtr<FunctionNode> creator;
  VariableNode* grad = nullptr;  // one handle
  Saved* saved = nullptr;
  VariableNode* next_dead = nullptr;
  uint64_t pass = 0;  // which backward pass uses `slot`
  uint32_t slot = 0;
  int32_t rank = 0;
  uint32_t output_index = 0;
  bool requires_grad;
  bool recomputable = false;  // the creator can compute `array` again, so that it need not stay for those who retain it
  std::atomic<uint32_t> retained{0};  // functions that need `array` although no Variable may name it
  std::atomic<uint64_t> claim{0};     // of a leaf: the backward pass that is adding to its gradient, or 0

  /// A function retains the array.
  void add_retention() noexcept { add_to_count(retained, 1u); }
  /// And needs it no more.
  void drop_retention() noexcept {
    if (take_from_count(retained, 1u) == 1 && handles() == 0) drop_array();
  }

 private:
  const Saved& remembered() const {
    if (saved == nullptr) [[unlikely]]
      throw_no_array();
    return *saved;
  }
  [[noreturn]] static void throw_no_array();
  void destroy() noexcept;
  void last_handle_gone() noexcept;
  void drop_array() noexcept;
};

class VariableHandle {
 public:
  VariableHandle() noexcept = default;
  explicit VariableHandle(VariableNode* node) noexcept : node_{node} {
    if (node_ != nullptr) node_->add_handle();
  }
  VariableHandle(const VariableHandle& other) noexcept : VariableHandle(other.node_) {}
  VariableHandle(VariableHandle&& other) noexcept : node_{std::exchange(other.node_, nullptr)} {}
  VariableHandle& operator=(const VariableHandle& other) noexcept {
    VariableHandle copy(other);
    std::swap(node_, copy.node_);
    return *this;
  }
  VariableHandle& operator=(VariableHandle&& other) noexcept {
    VariableHandle moved(std::move(other));
    std::swap(node_, moved.node_);
    return *this;
  }
  ~VariableHandle() {
    if (node_ != nullptr) node_->drop_handle();
  }
  VariableNode* get() const noexcept { return node_; }

 private:
  VariableNode* node_ = nullptr;
};

}  // namespace detail

/// A handle to an array that remembers how it was computed. Copies name the same variable. chainer.Variable.
///
/// Threads may copy and drop handles of one variable and compute with it at the same time, as several threads that call
/// one model do with its parameters, as long as none changes it (set_array, set_grad, cleargrad, backward, unchain).
/// A graph belongs to the thread that computes it: backward goes through it there, or later in another thread. A
/// backward that meets the gradient of a leaf to which another thread is adding throws StateError. See docs/threads.md.
class KUSARI_API Variable {
 public:
  /// An undefined variable: an absent optional argument, or no gradient.
  Variable() noexcept = default;
  /// A new leaf that requires a gradient: `Variable x(array)`.
  explicit Variable(const Array& array) : Variable(array, true) {}
  Variable(const Array& array, bool requires_grad);
  /// A raw array where a variable is expected (F::relu(array)) becomes a leaf without gradient, as in Chainer.
  template <class T>
  requires std::is_base_of_v<Array, T> Variable(const T& array) : Variable(array, false) {}

  bool is_defined() const noexcept { return node() != nullptr; }
  explicit operator bool() const noexcept { return is_defined(); }

  /// This and what follows throw StateError for an undefined variable.
  const Array& array() const { return known().array; }
  /// Replaces the array. Throws TypeError when a gradient of another shape or dtype is held.
  void set_array(const Array& array);
  const Shape& shape() const { return known().shape(); }
  int64_t shape(int64_t axis) const { return array().shape(axis); }
  int ndim() const { return shape().ndim(); }
  int64_t size() const { return numel(shape()); }
  Dtype dtype() const { return known().dtype(); }
  const Device& device() const { return array().device(); }
  template <class T>
  T item() const {
    return array().item<T>();
  }
  template <class T>
  std::vector<T> to_vector() const {
    return array().template to_vector<T>();
  }

  bool requires_grad() const { return known().requires_grad; }
  int rank() const { return known().rank; }
  /// The function that computed this variable, or null for a leaf.
  FunctionNode* creator() const { return known().creator.get(); }
  const std::string& name() const;
  void set_name(std::string name);

  /// The gradient, undefined when there is none.
  Array grad() const;
  void set_grad(const Array& grad);
  /// The gradient with its own graph, when backward recorded one.
  Variable grad_var() const;
  void set_grad_var(const Variable& grad);
  void cleargrad();
  /// Factor that the gradient of this leaf carries (BackwardOptions::loss_scale).
  double loss_scale() const { return known().saved != nullptr ? node()->saved->loss_scale : 1; }
  /// The same where the factor is in device memory (BackwardOptions::device_loss_scale), else undefined.
  Array device_loss_scale() const { return known().saved != nullptr ? node()->saved->device_loss_scale : Array(); }

  /// Computes the gradients of all leaves below this variable and adds them to what the leaves hold. Without a gradient
  /// of its own, a single-element root starts from one; a larger root then throws ValueError.
  void backward(const BackwardOptions& options = {}) const;
  /// Forgets how this variable was computed.
  void unchain();
  /// Forgets the whole graph below this variable: truncated backpropagation through time.
  void unchain_backward();

  friend bool is_same(const Variable& a, const Variable& b) noexcept { return a.node() == b.node(); }

  // For the engine.
  explicit Variable(detail::VariableNode* node) noexcept : handle_{node} {}
  detail::VariableNode* node() const noexcept { return handle_.get(); }

 private:
  detail::VariableNode& known() const {
    if (!is_defined()) [[unlikely]]
      throw_undefined();
    return *node();
  }
  [[noreturn]] static void throw_undefined();

  detail::VariableHandle handle_;
};

/// "variable([1. 2.])", "variable NAME(...)" for one with a name, "variable(None)" without an array: what Python prints
/// of a chainer.Variable.
KUSARI_API std::string to_string(const Variable& variable);
KUSARI_API std::ostream& operator<<(std::ostream& stream, const Variable& variable);

/// A few arrays or variables, moved into place: what functions return.
template <class T>
class Pack : public SmallVector<T, 2> {
 public:
  Pack() = default;
  explicit Pack(size_t n) : SmallVector<T, 2>(n) {}
  /// These, in this order; not a number alone, which would be a size.
  template <class... Args>
  requires(sizeof...(Args) > 0 && (std::is_convertible_v<Args&&, T> && ...) &&
           !(sizeof...(Args) == 1 && (std::is_integral_v<std::remove_cvref_t<Args>> && ...)) &&
           !(std::is_same_v<std::remove_cvref_t<Args>, Pack> || ...)) Pack(Args&&... args) {
    this->reserve(sizeof...(Args));
    (this->emplace_back(converted(std::forward<Args>(args))), ...);
  }

 private:
  static T converted(T value) { return value; }  // as an argument would be: a raw array gets no gradient
};
using Arrays = Pack<Array>;
using Variables = Pack<Variable>;

/// Gradients of the sum of `outputs` with respect to `inputs`; undefined for an input that no output depends on.
/// Touches no variable's own gradient. chainer.grad.
struct GradOptions {
  std::span<const Variable> grad_outputs = {};  ///< seeds, one per output; undefined or absent means ones
  std::span<const Variable> grad_inputs = {};   ///< added to the results, one per input
  bool set_grad = false;                        ///< also store the results in the inputs
  bool retain_grad = false;
  bool enable_double_backprop = false;
  std::optional<double> loss_scale = std::nullopt;
  bool release_graph = false;  ///< see BackwardOptions
};
KUSARI_API Variables grad(std::span<const Variable> outputs, std::span<const Variable> inputs,
                          const GradOptions& options = {});
KUSARI_API Variables grad(std::initializer_list<Variable> outputs, std::initializer_list<Variable> inputs,
                          const GradOptions& options = {});
KUSARI_API Variables grad(std::initializer_list<Variable> outputs, std::span<const Variable> inputs,
                          const GradOptions& options = {});

/// Variable::backward from several outputs at once; each needs a gradient of its own or a single element.
KUSARI_API void backward(std::span<const Variable> outputs, const BackwardOptions& options = {});

}  // namespace kusari
