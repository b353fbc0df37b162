#include "kusari/framework/distributed/functions/recv.h"

#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/distributed/functions/connections.h"
#include "kusari/framework/distributed/functions/messages.h"
#include "kusari/framework/distributed/functions/send.h"

namespace kusari::distributed::functions {
namespace {

// Its only input is the delegate, so that the outputs require a gradient.
class Recv final : public CommunicatorFunction {
 public:
  Recv(const Communicator& comm, int peer_rank, const RecvOptions& options)
      : CommunicatorFunction(comm), rank_{peer_rank}, tag_{options.tag}, device_{options.device} {}
  const char* name() const override { return "recv"; }
  void describe(Attributes& options) const override {
    CommunicatorFunction::describe(options);
    options.set("rank", rank_);
    options.set("tag", tag_);
  }

 private:
  Arrays forward(const ArrayRefs& in) override {
    delegate_device_ = in[0].device();
    return tied(recv_message(comm(), rank_, tag_, device_));
  }

  Variables backward(const Variables& gy) override {
    std::vector<Variable> gradients;
    for (const Variable& gradient : tied_gradients(gy)) {
      if (is_floating(gradient.dtype())) gradients.push_back(gradient);
    }
    // Integers have none, and nobody waits for them.
    const Variable sent = gradients.empty() ? retained_output(0) : send(gradients, comm(), rank_, tag_);
    return {gradient_through(sent, input_shape(0), input_dtype(0), delegate_device_)};
  }

  int rank_, tag_;
  Device device_, delegate_device_;
};

}  // namespace

Variable recv(const Communicator& communicator, int rank, const RecvOptions& options) {
  const Variables received = recv_all(communicator, rank, options);
  if (received.size() == 1) return received[0];
  throw ValueError("F::recv: rank " + std::to_string(rank) + " has sent " + std::to_string(received.size()) +
                   " variables as one message: take it by recv_all");
}

Variables recv_all(const Communicator& communicator, int rank, const RecvOptions& options) {
  expect_peer(communicator, "F::recv", rank, options.tag);
  return without_tie(apply_all<Recv>({connection(options.delegate_variable)}, communicator, rank, options));
}

}  // namespace kusari::distributed::functions
