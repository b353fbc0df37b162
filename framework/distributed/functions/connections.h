#pragma once

#include <span>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/distributed/communicator.h"

// What the functions between ranks share. All of them must go backward on all ranks of a call, or on none: whether an
// argument wants a gradient is not known elsewhere, so every floating one is taken to want one.
namespace kusari::distributed::functions {

/// x, or a leaf with its array that requires a gradient where x requires none and is floating.
Variable connected(const Variable& x);

std::vector<Variable> all_connected(std::span<const Variable> xs);
std::vector<Array> arrays_of(const ArrayRefs& in);
/// The variable on a device, itself if it is there.
Variable on_device(const Variable& x, const Device& device);

/// A variable of no content that requires a gradient: 0, float32, of shape ().
Variable new_delegate();

/// A variable that only connects the graph, as an input that requires a gradient; a new one where there is none, or it
/// cannot have a gradient.
Variable connection(const Variable& delegate);

/// A gradient of that form for an argument that stands for a connection alone: zeros which the graph computes from
/// `delegate`, so that who goes on backward from it reaches what `delegate` is connected with.
Variable gradient_through(const Variable& delegate, const Shape& shape, Dtype dtype, const Device& device);

/// The base of functions between ranks.
///
/// Output 0 of each is its tie: a delegate that callers do not see, or that is the delegate they get. Gradients that a
/// recorded backward sends are connected with it, so that who goes backward through these comes by the call itself as
/// well: on all ranks of the call, whatever the gradient of each of them depends on.
class CommunicatorFunction : public FunctionNode {
 public:
  explicit CommunicatorFunction(const Communicator& comm) : comm_{comm} {}
  Precision precision() const noexcept override { return Precision::untouched; }
  void describe(Attributes& options) const override { options.set("ranks", comm_.size()); }

 protected:
  const Communicator& comm() const noexcept { return comm_; }
  bool is_rank(int rank) const noexcept { return comm_.rank() == rank; }
  /// What forward returns: the tie and the outputs. A static graph cannot replay it.
  Arrays tied(std::vector<Array> outputs);
  /// In backward: the gradients of the outputs without the tie, zeros where none came, connected with the tie.
  std::vector<Variable> tied_gradients(const Variables& gy);
  /// The same where the tie is the only output.
  Variable tie_gradient(const Variables& gy);

 private:
  struct Form {
    Shape shape;
    Dtype dtype;
    Device device;
  };

  Communicator comm_;
  std::vector<Form> forms_;
};

/// The outputs of a function without its tie.
Variables without_tie(const Variables& outputs);

/// Throws ValueError, naming `call`, for a rank that the communicator does not have.
void expect_rank(const Communicator& comm, const char* call, const char* argument, int rank);
/// Throws ValueError unless there is one of `xs` for each rank, and TypeError for one that is not given.
void expect_one_for_each_rank(const Communicator& comm, const char* call, std::span<const Variable> xs);

}  // namespace kusari::distributed::functions
