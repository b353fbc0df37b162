#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/collectives.h"
#include "kusari/framework/core/collectives_world.h"
#include "kusari/framework/core/error.h"

namespace kusari::collectives {
namespace {

constexpr const char* kComparison = "comparison of calls";

/// What goes ahead of a message of any length; short ones are in it.
struct Envelope {
  static constexpr size_t kInline = 192;

  char operation[40];
  int64_t number;
  uint64_t bytes;
  char body[kInline];
};

constexpr uint64_t mix(uint64_t hash, uint64_t value) noexcept {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

uint64_t hash_of(std::string_view text) noexcept {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

/// Several tickets, done when all are.
class Tickets final : public Ticket {
 public:
  Tickets() = default;
  ~Tickets() override {
    for (const TicketPtr& ticket : tickets_) {
      if (ticket->held == nullptr) ticket->held = held;
    }
  }
  void add(TicketPtr ticket) { tickets_.push_back(std::move(ticket)); }
  bool test() override {
    moves += std::erase_if(tickets_, [](const TicketPtr& ticket) { return ticket->test(); });
    return tickets_.empty();
  }
  void list_awaited(std::vector<int>& ranks) const override {
    for (const TicketPtr& ticket : tickets_) ticket->list_awaited(ranks);
  }

 private:
  std::vector<TicketPtr> tickets_;
};

/// An envelope, and what does not fit in.
class Outgoing final : public Ticket {
 public:
  Outgoing(Transport& transport, const char* operation, int64_t number, std::string_view bytes, int to, int tag) {
    auto copy = std::make_shared<std::pair<Envelope, std::string>>();
    Envelope& envelope = copy->first;
    std::strncpy(envelope.operation, operation, sizeof(envelope.operation) - 1);
    envelope.number = number;
    envelope.bytes = bytes.size();
    if (bytes.size() <= Envelope::kInline) {
      if (!bytes.empty()) std::memcpy(envelope.body, bytes.data(), bytes.size());
    } else {
      copy->second = bytes;
    }
    held = copy;
    parts_.add(hold(transport.send(&envelope, sizeof(envelope), to, tag)));
    if (bytes.size() <= Envelope::kInline) return;
    parts_.add(hold(transport.send(copy->second.data(), bytes.size(), to, tag)));
  }
  bool test() override { return parts_.test(); }
  void list_awaited(std::vector<int>& ranks) const override { parts_.list_awaited(ranks); }

 private:
  TicketPtr hold(TicketPtr ticket) const {
    ticket->held = held;
    return ticket;
  }
  Tickets parts_;
};

class Incoming final : public Ticket {
 public:
  using Check = Callable<void(const Envelope&)>;
  Incoming(Transport& transport, int from, int tag, Check check)
      : transport_{transport}, from_{from}, tag_{tag}, check_{std::move(check)} {
    part_ = hold(transport.recv(&box_->first, sizeof(Envelope), from, tag));
  }
  bool test() override {
    while (part_ != nullptr) {
      if (!part_->test()) return false;
      part_ = nullptr;
      if (has_envelope_) return true;
      has_envelope_ = true;
      const Envelope& envelope = box_->first;
      check_(envelope);
      if (envelope.bytes <= Envelope::kInline) {
        box_->second.assign(envelope.body, envelope.bytes);
        return true;
      }
      box_->second.resize(envelope.bytes);
      part_ = hold(transport_.recv(box_->second.data(), envelope.bytes, from_, tag_));
    }
    return true;
  }
  void list_awaited(std::vector<int>& ranks) const override {
    if (part_ != nullptr) part_->list_awaited(ranks);
  }
  std::string take() { return std::move(box_->second); }

 private:
  TicketPtr hold(TicketPtr ticket) const {
    ticket->held = box_;
    return ticket;
  }
  using Box = std::pair<Envelope, std::string>;
  Transport& transport_;
  int from_, tag_;
  Check check_;
  std::shared_ptr<Box> box_ = std::make_shared<Box>();
  TicketPtr part_;
  bool has_envelope_ = false;
};

/// Tickets of others, tested together.
class Borrowed final : public Ticket {
 public:
  explicit Borrowed(std::vector<Ticket*> tickets) : tickets_{std::move(tickets)} {}
  bool test() override {
    moves += std::erase_if(tickets_, [](Ticket* ticket) { return ticket->test(); });
    return tickets_.empty();
  }
  void list_awaited(std::vector<int>& ranks) const override {
    for (const Ticket* ticket : tickets_) ticket->list_awaited(ranks);
  }

 private:
  std::vector<Ticket*> tickets_;
};

std::vector<int> all_ranks(int size) {
  std::vector<int> ranks(static_cast<size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

template <class T>
T parse(std::string_view bytes) {
  T value;
  if (bytes.size() != sizeof(T)) throw Error("Communicator: a message of another version of Kusari has come");
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

}  // namespace

/// One operation of the group.
struct Group::Call {
  Operation operation;
  int64_t number;
  int tag;
};

Group::Group() : members_{0} {}

Group::Group(std::unique_ptr<Transport> transport, const WorldOptions& options, bool is_of_process)
    : world_{std::make_shared<World>(std::move(transport), options)} {
  Transport& way = world_->transport();
  members_ = all_ranks(way.size());
  rank_ = way.rank();
  enter_world(*world_, is_of_process);
  world_->set_places(allgather({"create_communicator"}, way.place()));
  enter_world(*world_, is_of_process);
  find_places();
}

Group::Group(std::shared_ptr<World> world, std::vector<int> members, int rank, int context)
    : world_{std::move(world)}, members_{std::move(members)}, rank_{rank}, context_{context} {
  find_places();
}

Group::~Group() { leave(); }

bool Group::checks_calls() const noexcept { return world_ != nullptr && world_->checks_calls(); }

void Group::find_places() {
  const std::vector<int> machines = world_->transport().machines();
  const auto machine_of = [&](int rank) { return machines[static_cast<size_t>(world_rank(rank))]; };
  std::vector<int> seen;
  intra_size_ = 0;
  for (int rank = 0; rank < size(); ++rank) {
    const int machine = machine_of(rank);
    if (machine == machine_of(rank_)) {
      if (rank < rank_) ++intra_rank_;
      ++intra_size_;
    }
    if (std::find(seen.begin(), seen.end(), machine) == seen.end()) seen.push_back(machine);
  }
  inter_size_ = static_cast<int>(seen.size());
  inter_rank_ = static_cast<int>(std::find(seen.begin(), seen.end(), machine_of(rank_)) - seen.begin());
}

std::string Group::describe(int rank) const {
  return world_ != nullptr ? world_->describe(world_rank(rank)) : "rank 0 of 1";
}

int Group::group_rank(int wanted) const {
  return static_cast<int>(std::find(members_.begin(), members_.end(), wanted) - members_.begin());
}

Group::Call Group::begin(const Operation& operation, std::optional<size_t> bytes) {
  if (has_left_) throw StateError(std::string(operation.name) + ": the communicator was finalized");
  compare_calls(operation, bytes);
  return reserved(operation, reserve(operation, 1));
}

int64_t Group::reserve(Operation operation, int count) {
  if (world_ != nullptr) world_->check();
  const int64_t first = operations_ + 1;
  operations_ += count;
  history_ = mix(history_, hash_of(operation.name));
  return first;
}

Group::Call Group::reserved(const Operation& operation, int64_t number) {
  return {operation, number, context_ * kTagsOfGroup + kUserTags + static_cast<int>(number % kUserTags)};
}

double Group::wait_for(Ticket& ticket, const Call& call) {
  return world_->wait(ticket, {call.operation, call.number, context_, members_});
}

double Group::wait(Ticket& ticket, Operation operation, int64_t number) {
  if (world_ == nullptr) return 0;
  return world_->wait(ticket, {operation, number != 0 ? number : operations_, context_, members_});
}

void Group::check() {
  if (world_ != nullptr) world_->check();
}

void Group::fail(std::string_view message) const noexcept {
  if (world_ != nullptr) world_->fail(message);
}

void Group::leave() noexcept {
  if (world_ == nullptr || std::exchange(has_left_, true)) return;
  world_->leave(context_, members_);
}

std::shared_ptr<Group> Group::split(int color, int key) {
  if (world_ == nullptr) return std::make_shared<Group>();
  struct Choice {
    int color, key, context;
  };
  const Choice own{color, key, world_->next_context()};
  const std::vector<std::string> all = allgather({"split"}, {reinterpret_cast<const char*>(&own), sizeof(own)});
  int context = 0;
  std::vector<std::pair<int, int>> chosen;  // key, rank
  for (int rank = 0; rank < size(); ++rank) {
    const auto choice = parse<Choice>(all[static_cast<size_t>(rank)]);
    context = std::max(context, choice.context);
    if (choice.color == color) chosen.emplace_back(choice.key, rank);
  }
  std::sort(chosen.begin(), chosen.end());
  world_->use_context(context);
  std::vector<int> members;
  int rank = 0;
  for (const auto& [chosen_key, member] : chosen) {
    if (member == rank_) rank = static_cast<int>(members.size());
    members.push_back(world_rank(member));
  }
  return std::shared_ptr<Group>(new Group(world_, std::move(members), rank, context));
}

namespace {

/// Whether a message belongs to another operation than the one that waits for it.
void check_envelope(const Group& group, const Envelope& envelope, const char* operation, int64_t number, int from) {
  if (envelope.number == number && std::strncmp(envelope.operation, operation, sizeof(envelope.operation) - 1) == 0) {
    return;
  }
  const std::string text = "Communicator: " + group.describe(group.rank()) + " calls " + operation + " as operation " +
                           std::to_string(number) + ", and " + group.describe(from) + " calls " + envelope.operation +
                           " as operation " + std::to_string(envelope.number) +
                           ": all ranks must call the same operations in the same order";
  group.fail("StateError: " + text);
  throw StateError(text);
}

}  // namespace

void Group::send(std::string_view bytes, int to, int tag) {
  if (has_left_) throw StateError("send: the communicator was finalized");
  world_->check();
  Outgoing outgoing(world_->transport(), "send", 0, bytes, world_rank(to), context_ * kTagsOfGroup + tag);
  const std::string detail = "to rank " + std::to_string(to);
  world_->wait(outgoing, {{"send", detail}, 0, context_, members_});
}

std::string Group::recv(int from, int tag) {
  if (has_left_) throw StateError("recv: the communicator was finalized");
  world_->check();
  Incoming incoming(world_->transport(), world_rank(from), context_ * kTagsOfGroup + tag,
                    [&](const Envelope& envelope) { check_envelope(*this, envelope, "send", 0, from); });
  const std::string detail = "from rank " + std::to_string(from);
  world_->wait(incoming, {{"recv", detail}, 0, context_, members_});
  return incoming.take();
}

std::string Group::bcast(Operation operation, std::string_view bytes, int root) {
  if (world_ == nullptr) return std::string(bytes);
  const Call call = begin(operation);
  Transport& transport = world_->transport();
  // A binomial tree over the ranks counted from the root.
  const int place = (rank_ - root + size()) % size();
  std::string received;
  int step = 1;
  while (step < size() && (place & step) == 0) step <<= 1;
  if (place != 0) {
    const int from = (place - step + root) % size();
    Incoming incoming(transport, world_rank(from), call.tag, [&](const Envelope& envelope) {
      check_envelope(*this, envelope, operation.name, call.number, from);
    });
    wait_for(incoming, call);
    received = incoming.take();
    bytes = received;
  }
  Tickets sends;
  for (int next = step >> 1; next > 0; next >>= 1) {
    if (place + next >= size()) continue;
    const int to = (place + next + root) % size();
    sends.add(std::make_unique<Outgoing>(transport, operation.name, call.number, bytes, world_rank(to), call.tag));
  }
  wait_for(sends, call);
  return place == 0 ? std::string(bytes) : received;
}

std::vector<std::string> Group::gather(Operation operation, std::string_view bytes, int root) {
  if (world_ == nullptr) return {std::string(bytes)};
  const Call call = begin(operation);
  Transport& transport = world_->transport();
  if (rank_ != root) {
    Outgoing outgoing(transport, operation.name, call.number, bytes, world_rank(root), call.tag);
    wait_for(outgoing, call);
    return {};
  }
  std::vector<std::string> parts(static_cast<size_t>(size()));
  std::vector<std::unique_ptr<Incoming>> incoming(parts.size());
  std::vector<Ticket*> tickets;
  for (int from = 0; from < size(); ++from) {
    if (from == rank_) continue;
    auto& own = incoming[static_cast<size_t>(from)];
    own = std::make_unique<Incoming>(transport, world_rank(from), call.tag, [&, from](const Envelope& envelope) {
      check_envelope(*this, envelope, operation.name, call.number, from);
    });
    tickets.push_back(own.get());
  }
  Borrowed all(std::move(tickets));
  wait_for(all, call);
  for (size_t i = 0; i < parts.size(); ++i) parts[i] = incoming[i] ? incoming[i]->take() : std::string(bytes);
  return parts;
}

std::vector<std::string> Group::alltoall(Operation operation, std::span<const std::string> to_send) {
  if (world_ == nullptr) return {to_send.begin(), to_send.end()};
  const Call call = begin(operation);
  Transport& transport = world_->transport();
  std::vector<std::string> parts(static_cast<size_t>(size()));
  std::vector<std::unique_ptr<Incoming>> incoming(parts.size());
  std::vector<std::unique_ptr<Outgoing>> outgoing;
  std::vector<Ticket*> tickets;
  for (int i = 1; i < size(); ++i) {
    const int from = (rank_ + size() - i) % size(), to = (rank_ + i) % size();
    auto& own = incoming[static_cast<size_t>(from)];
    own = std::make_unique<Incoming>(transport, world_rank(from), call.tag, [&, from](const Envelope& envelope) {
      check_envelope(*this, envelope, operation.name, call.number, from);
    });
    tickets.push_back(own.get());
    outgoing.push_back(std::make_unique<Outgoing>(transport, operation.name, call.number,
                                                  to_send[static_cast<size_t>(to)], world_rank(to), call.tag));
    tickets.push_back(outgoing.back().get());
  }
  Borrowed all(std::move(tickets));
  wait_for(all, call);
  const auto own = static_cast<size_t>(rank_);
  for (size_t i = 0; i < parts.size(); ++i) parts[i] = i == own ? to_send[i] : incoming[i]->take();
  return parts;
}

std::vector<std::string> Group::allgather(Operation operation, std::string_view bytes) {
  return alltoall(operation, std::vector<std::string>(static_cast<size_t>(size()), std::string(bytes)));
}

std::string Group::scatter(Operation operation, std::span<const std::string> parts, int root) {
  if (world_ == nullptr) return parts[0];
  const Call call = begin(operation);
  Transport& transport = world_->transport();
  if (rank_ != root) {
    Incoming incoming(transport, world_rank(root), call.tag, [&](const Envelope& envelope) {
      check_envelope(*this, envelope, operation.name, call.number, root);
    });
    wait_for(incoming, call);
    return incoming.take();
  }
  Tickets sends;
  for (int to = 0; to < size(); ++to) {
    if (to == rank_) continue;
    sends.add(std::make_unique<Outgoing>(transport, operation.name, call.number, parts[static_cast<size_t>(to)],
                                         world_rank(to), call.tag));
  }
  wait_for(sends, call);
  return parts[static_cast<size_t>(rank_)];
}

void Group::barrier() { allgather({"barrier"}, {}); }

void Group::compare_calls(const Operation& operation, std::optional<size_t> bytes) {
  if (!checks_calls() || size() == 1 || operation.name == kComparison) return;
  const std::string own = std::string(operation.name) + (bytes ? " of " + std::to_string(*bytes) + " bytes" : "") +
                          (operation.detail.empty() ? "" : " (" + std::string(operation.detail) + ")");
  const std::vector<std::string> calls = allgather({kComparison}, own);
  for (int rank = 0; rank < size(); ++rank) {
    const std::string& other = calls[static_cast<size_t>(rank)];
    if (other == own) continue;
    const std::string text = "Communicator: " + describe(rank_) + " calls " + own + ", and " + describe(rank) +
                             " calls " + other + ": all ranks must call the same operations in the same order";
    fail("StateError: " + text);
    throw StateError(text);
  }
}

TicketPtr Group::start_alltoall(Operation operation, const void* to_send, std::span<const size_t> offsets,
                                std::span<const size_t> counts, void* received, size_t stride, int64_t number) {
  auto all = std::make_unique<Tickets>();
  const auto own = static_cast<size_t>(rank_);
  const char* const from_here = static_cast<const char*>(to_send);
  char* const to_here = static_cast<char*>(received);
  if (counts[own] != 0) std::memcpy(to_here + own * stride, from_here + offsets[own], counts[own]);
  if (world_ == nullptr) return all;
  const Call call = number == 0 ? begin(operation, std::accumulate(counts.begin(), counts.end(), size_t{0}))
                                : reserved(operation, number);
  for (int i = 1; i < size(); ++i) {
    const int from = (rank_ + size() - i) % size(), to = (rank_ + i) % size();
    if (counts[own] != 0) {
      all->add(world_->transport().recv(to_here + static_cast<size_t>(from) * stride, counts[own], world_rank(from),
                                        call.tag));
    }
    const auto other = static_cast<size_t>(to);
    if (counts[other] == 0) continue;
    all->add(world_->transport().send(from_here + offsets[other], counts[other], world_rank(to), call.tag));
  }
  return all;
}

TicketPtr Group::start_allgather(Operation operation, void* data, std::span<const size_t> offsets,
                                 std::span<const size_t> counts, int64_t number) {
  auto all = std::make_unique<Tickets>();
  if (world_ == nullptr) return all;
  const Call call = number == 0 ? begin(operation, std::accumulate(counts.begin(), counts.end(), size_t{0}))
                                : reserved(operation, number);
  char* const bytes = static_cast<char*>(data);
  const auto own = static_cast<size_t>(rank_);
  for (int i = 1; i < size(); ++i) {
    const int from = (rank_ + size() - i) % size(), to = (rank_ + i) % size();
    const auto other = static_cast<size_t>(from);
    if (counts[other] != 0) {
      all->add(world_->transport().recv(bytes + offsets[other], counts[other], world_rank(from), call.tag));
    }
    if (counts[own] == 0) continue;
    all->add(world_->transport().send(bytes + offsets[own], counts[own], world_rank(to), call.tag));
  }
  return all;
}

void finish_run() noexcept {
  if (World* const world = current_world()) world->finish();
}

}  // namespace kusari::collectives
