#include "kusari/framework/autograd/variable.h"

#include <ostream>

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/error.h"

namespace kusari {
namespace detail {
namespace {

// Arrays up to this size stay with their vertex: noting their shape elsewhere would cost as much as they do.
constexpr int64_t kKeptBytes = 1024;

}  // namespace

VariableNode::~VariableNode() {
  if (creator) creator->outputs_[output_index] = nullptr;
  if (grad != nullptr) grad->drop_handle();
  if (saved != nullptr) memory::destroy(saved);
}

// A vertex takes its creator along, and that the vertices before it: a chain of a million must not become a million
// nested calls. The outermost call works through a list instead.
void VariableNode::destroy() noexcept {
  static constinit thread_local VariableNode** dead __attribute__((tls_model("initial-exec"))) = nullptr;
  if (!creator && grad == nullptr) {
    delete this;
    return;
  }
  if (dead != nullptr) {
    next_dead = *dead;
    *dead = this;
    return;
  }
  VariableNode* first = this;
  dead = &first;
  while (VariableNode* const node = first) {
    first = node->next_dead;
    delete node;
  }
  dead = nullptr;
}

VariableNode::Saved& VariableNode::saved_state() {
  if (saved == nullptr) saved = memory::create<Saved>();
  return *saved;
}

void VariableNode::last_handle_gone() noexcept {
  // A gradient with a graph of its own leads back to this vertex; nobody can see it any more.
  if (VariableNode* const held = std::exchange(grad, nullptr)) held->drop_handle();
  if ((retained.load(std::memory_order_acquire) == 0 || recomputable) && references() > 1) drop_array();
}

void VariableNode::drop_array() noexcept {
  if (!array.is_defined() || array.nbytes() <= kKeptBytes) return;
  Saved& state = saved_state();
  state.shape = array.shape();
  state.dtype = array.dtype();
  state.device = array.device();
  array = Array();
}

void VariableNode::throw_no_array() {
  throw StateError("Variable: it has no array (an uninitialised parameter?), so no shape or dtype");
}

}  // namespace detail

Variable::Variable(const Array& array, bool requires_grad) : Variable(new detail::VariableNode(array, requires_grad)) {}

void Variable::set_array(const Array& array) {
  const Array held = grad();
  if (held.is_defined() && (held.shape() != array.shape() || held.dtype() != array.dtype())) {
    throw TypeError("Variable::set_array: the new array has shape " + to_string(array.shape()) + " and dtype " +
                    kusari::name(array.dtype()) + " but the gradient held has " + to_string(held.shape()) + " and " +
                    kusari::name(held.dtype()));
  }
  known().array = array;
}

const std::string& Variable::name() const {
  static const std::string nameless;
  return known().saved != nullptr ? node()->saved->name : nameless;
}

void Variable::throw_undefined() {
  throw StateError(
      "Variable: the variable is undefined (an argument that was not given, or no gradient): it has no array");
}

void Variable::set_name(std::string name) { known().saved_state().name = std::move(name); }

Array Variable::grad() const { return known().grad != nullptr ? node()->grad->array : Array(); }

Variable Variable::grad_var() const { return Variable(known().grad); }

void Variable::set_grad(const Array& grad) { set_grad_var(grad.is_defined() ? Variable(grad, false) : Variable()); }

void Variable::set_grad_var(const Variable& grad) {
  if (grad.is_defined() && (grad.shape() != shape() || grad.dtype() != dtype())) {
    throw TypeError("Variable::set_grad: the gradient has shape " + to_string(grad.shape()) + " and dtype " +
                    kusari::name(grad.dtype()) + " but the variable has " + to_string(shape()) + " and " +
                    kusari::name(dtype()));
  }
  if (grad.is_defined()) grad.node()->add_handle();
  if (known().grad != nullptr) node()->grad->drop_handle();
  node()->grad = grad.node();
}

void Variable::cleargrad() {
  if (detail::VariableNode* const held = std::exchange(known().grad, nullptr)) held->drop_handle();
  if (node()->saved == nullptr) return;
  node()->saved->loss_scale = 1;
  node()->saved->device_loss_scale = Array();
}

void Variable::unchain() {
  IntrusivePtr<FunctionNode> creator = std::move(known().creator);
  if (creator) creator->forget_output(node()->output_index);
}

void Variable::unchain_backward() {
  SmallVector<IntrusivePtr<FunctionNode>, 8> pending;
  if (known().creator) pending.push_back(node()->creator);
  while (!pending.empty()) {
    const IntrusivePtr<FunctionNode> function = std::move(pending.back());
    pending.pop_back();
    for (size_t i = 0; i < function->input_count(); ++i) {
      detail::VariableNode* const input = function->input_node(i);
      if (input != nullptr && input->creator) pending.push_back(input->creator);
    }
    function->unchain();
  }
}

std::string to_string(const Variable& variable) {
  std::string begin = "variable";
  if (variable.is_defined() && !variable.name().empty()) begin += " " + variable.name();
  begin += "(";
  const bool has_array = variable.is_defined() && variable.array().is_defined();
  return begin + (has_array ? array2string(variable.array(), begin) : "None") + ")";
}

std::ostream& operator<<(std::ostream& stream, const Variable& variable) { return stream << to_string(variable); }

}  // namespace kusari
