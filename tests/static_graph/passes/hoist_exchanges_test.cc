#include "kusari/framework/static_graph/passes/hoist_exchanges.h"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/basic_kernels.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/exchange.h"
#include "kusari/tests/static_graph/program_testing.h"

namespace kusari::graphs {
namespace {

using kernels::Neg;

/// Notes what it is asked, and doubles what has travelled.
class NotedExchange final : public RecordedExchange {
 public:
  void start(int64_t bucket, const Array& data) override {
    calls.push_back("start " + std::to_string(bucket));
    sent.push_back(data.to_vector<float>()[0]);
  }
  void look() override { ++looks; }
  void finish(int64_t bucket, const Array& data) override {
    calls.push_back("finish " + std::to_string(bucket));
    data.fill(2 * sent[static_cast<size_t>(bucket)]);
  }

  std::vector<std::string> calls;
  std::vector<float> sent;
  int looks = 0;
};

struct Exchanges : ProgramBuilder {
  NotedExchange exchange;

  template <class K>
  void add_exchange(int64_t bucket, const View& data) {
    add<K>({params_of(kernels::ExchangePlace{&exchange, bucket}), operand_of(Kind::in_out, data)});
  }
  /// Copies x to memory of its own, whose exchange begins.
  View start(int64_t bucket, const View& x) {
    const View data = temporary(x.shape);
    add<kernels::Copy>({operand_of(Kind::in, x), operand_of(Kind::out, data)});
    add_exchange<kernels::StartExchange>(bucket, data);
    return data;
  }
  /// Names of all steps but of those that look at the exchange.
  std::string names() const {
    std::string text;
    for (const Step& step : program.steps) {
      const std::string name = step.is_code() ? "code" : step.name;
      if (name != "look_at_exchange") text += (text.empty() ? "" : " ") + name;
    }
    return text;
  }
};

TEST_CASE("hoist_exchanges: an exchange begins behind the last step that writes what it sends") {
  Exchanges b;
  const View x = b.input({2}), y = b.result({2}), z = b.result({2});
  const View first = b.pointwise(Neg{}, x);
  const View second = b.pointwise(Neg{}, first);
  View rest = second;
  for (int i = 0; i < 9; ++i) rest = b.pointwise(Neg{}, rest);
  const View sent_first = b.start(0, first), sent_second = b.start(1, rest);
  b.add_exchange<kernels::FinishExchange>(0, sent_first);
  b.add_exchange<kernels::FinishExchange>(1, sent_second);
  b.pointwise_to(y, Neg{}, sent_first);
  b.pointwise_to(z, Neg{}, sent_second);

  PassLog log;
  CHECK(hoist_exchanges(b.program, log) == 1);
  REQUIRE(log.entries.size() == 1);
  CHECK(log.entries[0].what == "moved 1 behind what they send");
  CHECK(b.names() ==
        "neg copy start_exchange neg neg neg neg neg neg neg neg neg neg copy start_exchange "
        "finish_exchange finish_exchange neg neg");
  const ProgramRunner runner(b.program, ProgramRunner::Memory::packed);
  runner.at(x).fill(3);
  runner.run();
  CHECK(b.exchange.calls == std::vector<std::string>{"start 0", "start 1", "finish 0", "finish 1"});
  CHECK(b.exchange.looks >= 2);  // while the ten kernels run
  CHECK(runner.at(y).to_vector<float>() == std::vector<float>{6, 6});
  CHECK(runner.at(z).to_vector<float>() == std::vector<float>{6, 6});
}

TEST_CASE("hoist_exchanges: the order of the buckets stays, and code of the host is not passed") {
  Exchanges b;
  const View x = b.input({2});
  const View early = b.pointwise(Neg{}, x);
  b.code([] {});
  const View late = b.pointwise(Neg{}, early), later = b.pointwise(Neg{}, late);
  const View sent_later = b.start(0, later), sent_early = b.start(1, early);
  b.add_exchange<kernels::FinishExchange>(0, sent_later);
  b.add_exchange<kernels::FinishExchange>(1, sent_early);
  const std::string before = b.names();
  PassLog log;
  CHECK(hoist_exchanges(b.program, log) == 0);
  CHECK(b.names() == before);

  Exchanges c;
  const View given = c.input({2});
  const View ready = c.pointwise(Neg{}, given);
  c.code([] {});
  const View other = c.pointwise(Neg{}, ready);
  const View sent = c.start(0, ready);
  c.add_exchange<kernels::FinishExchange>(0, sent);
  c.pointwise_to(c.result({2}), Neg{}, other);
  CHECK(hoist_exchanges(c.program, log) == 1);
  CHECK(c.names() == "neg code copy start_exchange neg finish_exchange neg");
}

TEST_CASE("hoist_exchanges: what fills the array must do nothing else") {
  Exchanges b;
  const View x = b.input({2});
  const View ready = b.pointwise(Neg{}, x), other = b.pointwise(Neg{}, ready);
  b.pointwise(Neg{}, other);
  const View data = b.temporary({2});
  b.add_exchange<kernels::FinishExchange>(0, data);  // what an earlier exchange has left is in it
  b.add_exchange<kernels::StartExchange>(1, data);
  const std::string before = b.names();
  PassLog log;
  CHECK(hoist_exchanges(b.program, log) == 0);
  CHECK(b.names() == before);
}

}  // namespace
}  // namespace kusari::graphs
