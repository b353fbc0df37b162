#include "kusari/framework/distributed/functions/send.h"

#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/distributed/functions/connections.h"
#include "kusari/framework/distributed/functions/messages.h"
#include "kusari/framework/distributed/functions/recv.h"
#include "kusari/framework/functions/given.h"

namespace kusari::distributed::functions {
namespace {

class Send final : public CommunicatorFunction {
 public:
  Send(const Communicator& comm, int peer_rank, int tag) : CommunicatorFunction(comm), rank_{peer_rank}, tag_{tag} {}
  const char* name() const override { return "send"; }
  void describe(Attributes& options) const override {
    CommunicatorFunction::describe(options);
    options.set("rank", rank_);
    options.set("tag", tag_);
  }

 private:
  Arrays forward(const ArrayRefs& in) override {
    device_ = in[0].device();
    send_message(comm(), arrays_of(in), rank_, tag_);
    return tied({});
  }

  // The gradients of the floating inputs come, in their order.
  Variables backward(const Variables& gy) override {
    const Variables received =
        recv_all(comm(), rank_, {.delegate_variable = tie_gradient(gy), .tag = tag_, .device = device_});
    Variables gradients(input_count());
    size_t next = 0;
    for (size_t i = 0; i < input_count(); ++i) {
      if (is_floating(input_dtype(i)) && next < received.size()) gradients[i] = received[next++];
    }
    return gradients;
  }

  int rank_, tag_;
  Device device_;
};

}  // namespace

Variable send(const Variable& x, const Communicator& communicator, int rank, int tag) {
  kusari::functions::expect_given(x, "F::send", "x");
  return send(std::span<const Variable>(&x, 1), communicator, rank, tag);
}

Variable send(std::span<const Variable> xs, const Communicator& communicator, int rank, int tag) {
  if (xs.empty()) throw ValueError("F::send: xs has no variables: there must be at least one");
  kusari::functions::expect_all_given(xs, "F::send");
  expect_peer(communicator, "F::send", rank, tag);
  return apply_all<Send>(all_connected(xs), communicator, rank, tag)[0];
}

}  // namespace kusari::distributed::functions
