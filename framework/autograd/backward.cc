#include <algorithm>
#include <atomic>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/add.h"
#include "kusari/framework/autograd/final_leaves.h"
#include "kusari/framework/autograd/function_hook.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/autograd/function_range.h"
#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/pointwise.h"

namespace kusari {

using detail::VariableNode;

// One walk over the graph from its outputs towards its leaves: functions in order of falling rank, ties in order of
// discovery, each once, after all functions that use its outputs. chainer/_backprop.py.
//
// The gradient of a vertex that waits for its creator's turn is in a slot that the vertex points to. A pass may run
// inside another (a function's backward that calls backward, as F::forget does) and meet vertices of the outer one:
// their slots are put back when the inner pass ends.
class BackwardPass {
 public:
  struct Options {
    bool to_leaves;  // add to the leaves' gradients; otherwise gradients stay in slots for grad()
    bool retain_grad;
    bool double_backprop;
    std::optional<double> loss_scale;
    Array device_loss_scale = {};
    bool release_graph = false;
    const std::unordered_set<FunctionNode*>* allowed = nullptr;  // null: all functions
    const std::unordered_set<VariableNode*>* targets = nullptr;  // vertices whose gradients the caller collects
  };

  explicit BackwardPass(const Options& options) : options_{options}, id_{next_id()}, outermost_{t_outermost} {
    if (t_outermost == 0) t_outermost = id_;
  }
  BackwardPass(const BackwardPass&) = delete;
  BackwardPass& operator=(const BackwardPass&) = delete;
  ~BackwardPass() {
    for (size_t i = displaced_.size(); i-- > 0;) {
      displaced_[i].node->pass = displaced_[i].pass;
      displaced_[i].node->slot = displaced_[i].slot;
    }
    for (VariableNode* leaf : claimed_) leaf->claim.store(0, std::memory_order_release);
    t_outermost = outermost_;
  }

  // Tells the listener, if there is one, which leaves are done. To be called before run().
  void tell_of_leaves(std::span<const Variable> roots) {
    if (outermost_ != 0) return;
    if (detail::FinalLeaves* const listener = detail::take_final_leaves()) uses_.emplace(roots, *listener);
  }

  // Starts from a root with gradient `seed`.
  void seed(VariableNode* root, Variable seed) {
    if (root->is_leaf()) {
      add_to_leaf(root, std::move(seed));
    } else {
      add_to_slot(root, std::move(seed));
      enqueue(root->creator.get());
    }
  }

  void run() {
    const auto mode = using_config(&Config::enable_backprop, options_.double_backprop);
    const ScopedInputCaster as_recorded(nullptr);  // gradients have the dtypes of the forward computation
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end());
      FunctionNode* const function = heap_.back().function;
      heap_.pop_back();
      step(*function);
      if (uses_) [[unlikely]]
        uses_->count_down(*function);
    }
    if (!options_.double_backprop) own_leaf_gradients();
  }

  // FunctionNode::take_gradient_so_far.
  Array take_sum(const VariableNode* input) {
    if (options_.double_backprop || input == nullptr || input->is_leaf() || input->pass != id_) return Array();
    Variable& pending = slots_[input->slot];
    if (!pending.is_defined() || !is_private(pending)) return Array();
    return std::exchange(pending, Variable()).array();
  }

  // The gradient collected for a target, if any.
  Variable result(VariableNode* target) const {
    for (const Result& r : results_) {
      if (r.node == target) return r.grad;
    }
    return target->pass == id_ ? slots_[target->slot] : Variable();
  }

 private:
  struct Entry {
    int32_t rank;
    uint32_t number;  // order of discovery
    FunctionNode* function;
    friend bool operator<(const Entry& a, const Entry& b) {
      return a.rank != b.rank ? a.rank < b.rank : a.number > b.number;
    }
  };
  // Lets a function ask its pass while its backward runs.
  class Turn {
   public:
    Turn(FunctionNode& function, BackwardPass* pass)
        : function_{function}, outer_{std::exchange(function.pass_, pass)} {}
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() { function_.pass_ = outer_; }

   private:
    FunctionNode& function_;
    BackwardPass* outer_;
  };
  struct Displaced {
    VariableNode* node;
    uint64_t pass;
    uint32_t slot;
  };
  struct Result {
    VariableNode* node;
    Variable grad;
  };

  void enqueue(FunctionNode* function) {
    if (function->seen_by_ == id_ || (options_.allowed != nullptr && !options_.allowed->contains(function))) return;
    function->seen_by_ = id_;
    heap_.push_back({function->rank_, discovered_++, function});
    std::push_heap(heap_.begin(), heap_.end());
  }

  bool is_target(VariableNode* node) const { return options_.targets != nullptr && options_.targets->contains(node); }

  // Output gradients leave their slots; a gradient that the user set by hand stands in where none came.
  Variable take(VariableNode* output) {
    if (output == nullptr) return Variable();
    Variable grad;
    if (output->pass == id_) {
      grad = std::move(slots_[output->slot]);
      free_slots_.push_back(output->slot);
      output->pass = 0;
    } else if (options_.to_leaves && output->grad != nullptr) {
      grad = Variable(output->grad);
      Variable(output).cleargrad();
    }
    if (grad.is_defined()) {
      if (is_target(output)) results_.push_back({output, grad});
      if (options_.retain_grad) Variable(output).set_grad_var(grad);
    }
    return grad;
  }

  void step(FunctionNode& function) {
    Variables gy;
    gy.reserve(function.outputs_.size());
    bool any = false;
    for (VariableNode* output : function.outputs_) any |= gy.emplace_back(take(output)).is_defined();
    if (!any) return;
    const bool hooked = detail::t_function_hooks != nullptr;
    if (hooked) [[unlikely]] {
      const ScopedGraphCapture unseen(nullptr);  // hooks look at arrays: no replay does that
      detail::call_backward_preprocess(function, gy);
    }
    const auto backward = [&] {
      const autograd::FunctionRange range(function, "backward", gy);
      const Turn turn(function, hooked && detail::hooks_want_own_gradients() ? nullptr : this);
      return function.backward(gy);
    };
    Variables gx = backward();
    if (hooked) [[unlikely]] {
      const ScopedGraphCapture unseen(nullptr);  // hooks look at arrays: no replay does that
      detail::call_backward_postprocess(function, gy, gx);
    }
    gy.clear();  // so that gradients handed through unchanged have one owner
    if (options_.release_graph) function.release_retained();
    if (gx.size() != function.inputs_.size()) throw_wrong_count(function, gx.size());
    for (size_t i = 0; i < gx.size(); ++i) {
      VariableNode* const input = function.inputs_[i].get();
      if (input == nullptr || !input->requires_grad || !gx[i].is_defined()) continue;
      check(function, i, *input, gx[i]);
      if (input->is_leaf()) {
        add_to_leaf(input, std::move(gx[i]));
      } else if (options_.allowed == nullptr || options_.allowed->contains(input->creator.get()) || is_target(input)) {
        add_to_slot(input, std::move(gx[i]));
        enqueue(input->creator.get());
      }
    }
  }

  void add_to_leaf(VariableNode* leaf, Variable gx) {
    if (!options_.to_leaves) {
      if (!is_target(leaf)) return;
      claim(leaf);
      return add_to_slot(leaf, std::move(gx));
    }
    if (leaf->handles() == 0) return;  // nobody can ask for it
    claim(leaf);
    const bool has_scale = options_.device_loss_scale.is_defined() || options_.loss_scale;
    if (leaf->grad == nullptr) {
      leaf->grad = gx.node();
      leaf->grad->add_handle();
      leaves_.push_back(leaf);
    } else {
      if (has_scale) {
        rescale_held(leaf);
      } else {
        gx = scaled_as_held(*leaf, std::move(gx));
      }
      VariableNode* const held = std::exchange(leaf->grad, nullptr);
      Variable sum(held);
      held->drop_handle();  // the reference that the leaf held
      sum = add(std::move(sum), std::move(gx));
      leaf->grad = sum.node();
      leaf->grad->add_handle();
    }
    if (options_.device_loss_scale.is_defined()) {
      leaf->saved_state().device_loss_scale = options_.device_loss_scale;
    } else if (options_.loss_scale) {
      leaf->saved_state().loss_scale = *options_.loss_scale;
      leaf->saved_state().device_loss_scale = Array();
    }
  }

  // Until this pass ends, no other thread may add to the leaf's gradient.
  void claim(VariableNode* leaf) {
    const uint64_t own = outermost_ != 0 ? outermost_ : id_;
    uint64_t holder = leaf->claim.load(std::memory_order_relaxed);
    if (holder == own) return;
    holder = 0;
    if (!detail::replace_count(leaf->claim, holder, own)) {
      throw StateError("backward: another thread is adding to the gradient" +
                       (leaf->saved == nullptr || leaf->saved->name.empty() ? "" : " of '" + leaf->saved->name + "'") +
                       " at the same time: threads that train need a copy of the model each, or kusari::grad");
    }
    claimed_.push_back(leaf);
  }

  static Array scale_on(const Device& device, const Array& scale, double number) {
    return scale.is_defined() ? scale.to_device(device).reshape({}) : full({}, number, Dtype::float64, device);
  }

  [[noreturn]] static void throw_other_scale(const VariableNode& leaf) {
    throw StateError("backward: the gradient" +
                     (leaf.saved == nullptr || leaf.saved->name.empty() ? "" : " of " + leaf.saved->name) +
                     " has a graph and another loss scale than this pass; clear it first");
  }

  // A gradient has one scale: what comes without one takes that of what the leaf holds.
  static Variable scaled_as_held(const VariableNode& leaf, Variable gx) {
    const VariableNode::Saved* const saved = leaf.saved;
    if (saved == nullptr || (saved->loss_scale == 1 && !saved->device_loss_scale.is_defined())) return gx;
    if (gx.creator() != nullptr) throw_other_scale(leaf);
    const Array& gradient = gx.array();
    const Array scale = scale_on(gradient.device(), saved->device_loss_scale, saved->loss_scale);
    return Variable(pointwise_as(gradient.dtype(), kernels::Mul{}, gradient, scale), false);
  }

  // And what a leaf holds takes that of a pass which has one.
  void rescale_held(VariableNode* leaf) const {
    const VariableNode::Saved* const saved = leaf->saved;
    const double held_number = saved != nullptr ? saved->loss_scale : 1;
    const Array held = saved != nullptr ? saved->device_loss_scale : Array();
    const Array& wanted = options_.device_loss_scale;
    const bool is_same = wanted.is_defined() ? held.is_defined() && held.is_same(wanted)
                                             : !held.is_defined() && held_number == *options_.loss_scale;
    if (is_same) return;
    if (leaf->grad->creator) throw_other_scale(*leaf);
    const Array& gradient = leaf->grad->array;
    const Array ratio = pointwise(kernels::Div{}, scale_on(gradient.device(), wanted, options_.loss_scale.value_or(1)),
                                  scale_on(gradient.device(), held, held_number));
    Variable(leaf).set_grad(pointwise_as(gradient.dtype(), kernels::Mul{}, gradient, ratio));
  }

  void add_to_slot(VariableNode* node, Variable gx) {
    if (node->pass == id_) {
      Variable& pending = slots_[node->slot];
      pending = pending.is_defined() ? add(std::move(pending), std::move(gx)) : std::move(gx);  // or it was taken
      return;
    }
    if (node->pass >= outermost_ && outermost_ != 0) displaced_.push_back({node, node->pass, node->slot});
    if (free_slots_.empty()) {
      node->slot = static_cast<uint32_t>(slots_.size());
      slots_.push_back(std::move(gx));
    } else {
      node->slot = free_slots_.back();
      free_slots_.pop_back();
      slots_[node->slot] = std::move(gx);
    }
    node->pass = id_;
  }

  // Nobody else can see the elements, so they may be overwritten.
  static bool is_private(const Variable& v) {
    const VariableNode* const node = v.node();
    return node->handles() == 1 && node->references() == 1 && node->array.is_unique() && node->array.is_dense();
  }

  Variable add(Variable a, Variable b) const {
    if (options_.double_backprop) return autograd::add(a, b);
    const Array &x = a.array(), &y = b.array();
    if (is_private(a)) {
      pointwise_to(x, kernels::Add{}, x, y);
      return a;
    }
    if (is_private(b)) {
      pointwise_to(y, kernels::Add{}, x, y);
      return b;
    }
    return Variable(pointwise(kernels::Add{}, x, y), false);
  }

  // A gradient that was handed through may be a broadcast view or shared with another leaf; whoever scales it in place
  // must not hit others.
  void own_leaf_gradients() {
    for (VariableNode* leaf : leaves_) {
      if (leaf->grad == nullptr) continue;
      const Array& array = leaf->grad->array;
      if (leaf->grad->handles() == 1 && array.is_unique() && array.is_dense()) continue;
      Variable(leaf).set_grad(array.copy());
    }
  }

  static void check(const FunctionNode& function, size_t i, const VariableNode& input, const Variable& gx) {
    if (gx.array().dtype() == input.dtype() && gx.array().shape() == input.shape()) return;
    throw TypeError(std::string("F::") + function.name() + ": backward gave input " + std::to_string(i) +
                    " a gradient of shape " + to_string(gx.shape()) + " and dtype " + name(gx.dtype()) +
                    " but the input has shape " + to_string(input.shape()) + " and dtype " + name(input.dtype()));
  }

  static void throw_wrong_count(const FunctionNode& function, size_t count) {
    throw Error(std::string("F::") + function.name() + ": backward gave " + std::to_string(count) + " gradients for " +
                std::to_string(function.input_count()) + " inputs");
  }

  // Never used twice in the process: a vertex keeps the id of the last pass that touched it.
  static uint64_t next_id() {
    static std::atomic<uint64_t> threads{0};
    static constinit thread_local uint64_t last = 0;
    if (last == 0) last = threads.fetch_add(1) << 40;
    return ++last;
  }

  static inline constinit thread_local uint64_t t_outermost = 0;  // id of the first of the passes now running, or 0

  const Options options_;
  const uint64_t id_;
  const uint64_t outermost_;
  uint32_t discovered_ = 0;
  SmallVector<Entry, 16> heap_;
  SmallVector<Variable, 16> slots_;
  SmallVector<uint32_t, 16> free_slots_;
  SmallVector<VariableNode*, 16> leaves_;  // leaves whose first gradient came in this pass
  SmallVector<VariableNode*, 16> claimed_;
  SmallVector<Displaced, 1> displaced_;
  SmallVector<Result, 1> results_;
  std::optional<detail::LeafUses> uses_;
};

namespace {

// A root's own gradient is consumed, as in Chainer; without one, a single element starts from the loss scale.
Variable seed_of(const Variable& root, const BackwardOptions& options, const char* call) {
  Variable seed = root.grad_var();
  if (seed.is_defined()) {
    if (!root.node()->is_leaf()) Variable(root).cleargrad();
    return seed;
  }
  if (root.size() != 1) {
    throw ValueError(std::string(call) + ": the variable has shape " + to_string(root.shape()) +
                     " and no gradient; set one first, or start from a single element");
  }
  const Array& scale = options.device_loss_scale;
  if (!scale.is_defined()) return Variable(full_like(root.array(), options.loss_scale.value_or(1.0)), false);
  return Variable(scale.to_device(root.device()).astype(root.dtype()).reshape(root.shape()), false);
}

void expect_root(const Variable& root, const char* call, size_t i, size_t count) {
  const std::string which = count == 1 ? "the variable" : "outputs[" + std::to_string(i) + "]";
  if (!root.is_defined())
    throw TypeError(std::string(call) + ": " + which + " is undefined: there is nothing to start from");
  if (!root.array().is_defined() && root.node()->is_leaf()) {
    throw StateError(std::string(call) + ": " + which + " has no array (an uninitialised parameter?)");
  }
}

void backward_from(std::span<const Variable> roots, const BackwardOptions& options, const char* call) {
  for (size_t i = 0; i < roots.size(); ++i) expect_root(roots[i], call, i, roots.size());
  BackwardPass pass({.to_leaves = true,
                     .retain_grad = options.retain_grad,
                     .double_backprop = options.enable_double_backprop,
                     .loss_scale = options.loss_scale,
                     .device_loss_scale = options.device_loss_scale,
                     .release_graph = options.release_graph && !options.enable_double_backprop});
  for (const Variable& root : roots) {
    if (root.node()->is_leaf()) {
      if (root.node()->grad == nullptr) Variable(root).set_grad_var(seed_of(root, options, call));
    } else {
      pass.seed(root.node(), seed_of(root, options, call));
    }
  }
  pass.tell_of_leaves(roots);
  pass.run();
}

// The functions on some path from `outputs` down to one of `targets`.
std::unordered_set<FunctionNode*> functions_between(std::span<const Variable> outputs,
                                                    const std::unordered_set<VariableNode*>& targets) {
  std::vector<FunctionNode*> reachable, pending;
  std::unordered_set<FunctionNode*> seen;
  const auto visit = [&](VariableNode* node) {
    if (node != nullptr && node->creator && seen.insert(node->creator.get()).second) {
      pending.push_back(node->creator.get());
    }
  };
  for (const Variable& output : outputs) visit(output.node());
  while (!pending.empty()) {
    FunctionNode* const function = pending.back();
    pending.pop_back();
    reachable.push_back(function);
    for (size_t i = 0; i < function->input_count(); ++i) visit(function->input_node(i));
  }
  // By rising rank, so that what a function depends on is decided before it.
  std::sort(reachable.begin(), reachable.end(),
            [](const FunctionNode* a, const FunctionNode* b) { return a->rank() < b->rank(); });
  std::unordered_set<FunctionNode*> between;
  for (FunctionNode* function : reachable) {
    for (size_t i = 0; i < function->input_count(); ++i) {
      VariableNode* const input = function->input_node(i);
      if (input != nullptr && (targets.contains(input) || (input->creator && between.contains(input->creator.get())))) {
        between.insert(function);
        break;
      }
    }
  }
  return between;
}

void check_length(const char* name, size_t got, size_t expected) {
  if (got == 0 || got == expected) return;
  throw ValueError(std::string("grad: ") + name + " has " + std::to_string(got) + " entries, expected " +
                   std::to_string(expected));
}

}  // namespace

void Variable::backward(const BackwardOptions& options) const {
  if (!is_defined()) throw StateError("Variable::backward: the variable is undefined: there is nothing to start from");
  backward_from(std::span<const Variable>(this, 1), options, "Variable::backward");
}

void backward(std::span<const Variable> outputs, const BackwardOptions& options) {
  backward_from(outputs, options, "backward");
}

Variables grad(std::span<const Variable> outputs, std::span<const Variable> inputs, const GradOptions& options) {
  check_length("grad_outputs", options.grad_outputs.size(), outputs.size());
  check_length("grad_inputs", options.grad_inputs.size(), inputs.size());
  std::unordered_set<VariableNode*> targets;
  for (const Variable& input : inputs) {
    if (!input.is_defined()) throw TypeError("grad: an input is not given: all must be variables of the graph");
    targets.insert(input.node());
  }
  for (size_t i = 0; i < outputs.size(); ++i) expect_root(outputs[i], "grad", i, outputs.size());
  const std::unordered_set<FunctionNode*> allowed = functions_between(outputs, targets);
  BackwardPass pass({.to_leaves = false,
                     .retain_grad = options.retain_grad,
                     .double_backprop = options.enable_double_backprop,
                     .loss_scale = options.loss_scale,
                     .release_graph = options.release_graph && !options.enable_double_backprop,
                     .allowed = &allowed,
                     .targets = &targets});
  for (size_t i = 0; i < outputs.size(); ++i) {
    Variable seed = options.grad_outputs.empty() ? Variable() : options.grad_outputs[i];
    if (!seed.is_defined()) {
      seed = Variable(full_like(outputs[i].array(), options.loss_scale.value_or(1.0)), false);
    } else if (seed.shape() != outputs[i].shape() || seed.dtype() != outputs[i].dtype()) {
      throw TypeError("grad: grad_outputs[" + std::to_string(i) + "] has shape " + to_string(seed.shape()) +
                      " and dtype " + name(seed.dtype()) + " but the output has shape " +
                      to_string(outputs[i].shape()) + " and dtype " + name(outputs[i].dtype()) +
                      ": they must be equal");
    }
    VariableNode* const output = outputs[i].node();
    const bool is_reached = output->creator && allowed.contains(output->creator.get());
    if (is_reached || targets.contains(output)) pass.seed(output, std::move(seed));
  }
  pass.run();
  Variables result;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Variable found = pass.result(inputs[i].node());
    if (!options.grad_inputs.empty() && options.grad_inputs[i].is_defined()) {
      found = found.is_defined() ? autograd::add(found, options.grad_inputs[i]) : options.grad_inputs[i];
    }
    if (options.set_grad) Variable(inputs[i]).set_grad_var(found);
    result.push_back(std::move(found));
  }
  return result;
}

Array FunctionNode::take_gradient_so_far(size_t i) {
  return pass_ == nullptr ? Array() : pass_->take_sum(inputs_[i].get());
}

Variables grad(std::initializer_list<Variable> outputs, std::initializer_list<Variable> inputs,
               const GradOptions& options) {
  return grad(outputs, std::span<const Variable>(inputs.begin(), inputs.size()), options);
}

Variables grad(std::initializer_list<Variable> outputs, std::span<const Variable> inputs, const GradOptions& options) {
  return grad(std::span<const Variable>(outputs.begin(), outputs.size()), inputs, options);
}

}  // namespace kusari
