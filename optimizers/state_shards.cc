#include "kusari/optimizers/state_shards.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/framework/serializers/dictionary_message.h"
#include "kusari/optimizers/optimizer_impl.h"

namespace kusari::detail {

namespace {

constexpr int64_t kBucketBytes = int64_t{8} << 20;  // what is copied to be sent
constexpr int64_t kLine = 16;                       // elements: parts begin with a cache line
constexpr const char* kParts = "parts of parameters";

/// These elements of a dense array, in its memory order.
Array in_a_row(const Array& array, const ParameterPart& part) {
  return array.as_strided({part.size()}, {1}, part.begin);
}

/// What is left of a rule's state when it is this rank's alone.
void cut(KernelRule& rule, const Array& array, const ParameterPart& part) {
  const auto own = [&](const Array& whole) {
    if (part.is_whole(array.size())) return whole;
    const Array ordered = empty_like(array, whole.dtype());
    ordered.copy_from(whole.to_device(array.device()));
    return part_of(ordered, part).copy();
  };
  rule.part = part;
  rule.rounded.reset();
  if (part.size() == 0) {
    rule.states.clear();
    rule.master = nullptr;
    return;
  }
  for (Array& state : rule.states) {
    if (state.is_defined() && state.size() == array.size()) state = own(state);
  }
  if (rule.master != nullptr && rule.master->size() == array.size()) {
    rule.master = std::make_unique<Parameter>(own(rule.master->array()));
  }
}

}  // namespace

Array part_of(const Array& array, const ParameterPart& part) {
  return part.is_whole(array.size()) ? array : in_a_row(array, part);
}

void StateShards::assign(std::span<const Member> members, bool splits) {
  std::vector<Key> keys;
  for (const Member& member : members) {
    const Array& array = member.parameter->array();
    keys.push_back({member.rule, member.is_updated, array.size(), array.strides(), array.dtype(), array.device()});
  }
  if (keys != assigned_ || splits != splits_) {
    make_whole(members, true);
    splits_ = splits;
    assigned_ = std::move(keys);
    buckets_.clear();
    own_.assign(members.size(), std::nullopt);
    std::vector<size_t> shared;
    for (size_t i = 0; i < members.size(); ++i) {
      const KernelRule& rule = *members[i].rule;
      if (!members[i].is_updated && rule.states.empty() && rule.master == nullptr) continue;
      shared.push_back(i);
      own_[i] = ParameterPart{0, 0, members[i].parameter->array().strides()};
    }
    const std::vector<std::vector<size_t>> lists = lists_of(members, shared);
    if (!splits) hand_out(members, lists);
    for (const std::vector<size_t>& list : lists) {
      if (splits) divide(members, list);
    }
    for (const Bucket& bucket : buckets_) {
      for (const Piece& piece : bucket) {
        if (piece.rank == group_.rank()) own_[piece.member] = piece.part;
      }
    }
  }
  for (size_t i = 0; i < members.size(); ++i) {
    if (own_[i] && !members[i].rule->part) cut(*members[i].rule, members[i].parameter->array(), *own_[i]);
  }
}

// Lists of members of one dtype and device, some MiB each.
std::vector<std::vector<size_t>> StateShards::lists_of(std::span<const Member> members,
                                                       const std::vector<size_t>& shared) {
  struct List {
    std::vector<size_t> members;
    int64_t bytes;
  };
  std::vector<List> open, full;
  for (const size_t i : shared) {
    const Array& array = members[i].parameter->array();
    const auto alike = [&](const List& list) {
      const Array& other = members[list.members[0]].parameter->array();
      return other.dtype() == array.dtype() && other.device() == array.device();
    };
    auto list = std::find_if(open.begin(), open.end(), alike);
    if (list != open.end() && list->bytes + array.nbytes() > kBucketBytes) {
      full.push_back(std::exchange(*list, List{{}, 0}));
    } else if (list == open.end()) {
      list = open.insert(open.end(), List{{}, 0});
    }
    list->members.push_back(i);
    list->bytes += array.nbytes();
  }
  full.insert(full.end(), open.begin(), open.end());
  std::vector<std::vector<size_t>> lists;
  for (List& list : full) lists.push_back(std::move(list.members));
  return lists;
}

// Each rank gets as much of each list.
void StateShards::divide(std::span<const Member> members, const std::vector<size_t>& list) {
  const auto array = [&](size_t i) -> const Array& { return members[i].parameter->array(); };
  int64_t all = 0;
  for (const size_t i : list) all += array(i).size();
  // Where a rank's elements begin in a parameter of that size, before which there are `at` others.
  const auto begin = [&](int rank, int64_t at, int64_t size) {
    const int64_t bound = rank == group_.size() ? all : all / group_.size() * rank;
    return bound - at < size ? std::max<int64_t>(bound - at, 0) / kLine * kLine : size;
  };
  Bucket& bucket = buckets_.emplace_back();
  for (int rank = 0; rank < group_.size(); ++rank) {
    int64_t at = 0;
    for (const size_t i : list) {
      const int64_t size = array(i).size();
      const ParameterPart part{begin(rank, at, size), begin(rank + 1, at, size), array(i).strides()};
      at += size;
      if (part.size() > 0) bucket.push_back({i, rank, part});
    }
  }
}

// The largest first, each to the rank that has least.
void StateShards::hand_out(std::span<const Member> members, const std::vector<std::vector<size_t>>& lists) {
  const auto array = [&](size_t i) -> const Array& { return members[i].parameter->array(); };
  std::vector<size_t> order;
  for (const std::vector<size_t>& list : lists) order.insert(order.end(), list.begin(), list.end());
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return array(a).size() > array(b).size(); });
  std::vector<int64_t> loads(static_cast<size_t>(group_.size()));
  std::vector<int> owners(members.size());
  for (const size_t i : order) {
    const auto least = std::min_element(loads.begin(), loads.end());
    *least += array(i).size();
    owners[i] = static_cast<int>(least - loads.begin());
  }
  for (const std::vector<size_t>& list : lists) {
    Bucket& bucket = buckets_.emplace_back();
    for (const size_t i : list) bucket.push_back({i, owners[i], {0, array(i).size(), array(i).strides()}});
    std::stable_sort(bucket.begin(), bucket.end(), [](const Piece& a, const Piece& b) { return a.rank < b.rank; });
  }
}

double StateShards::gather(std::span<const Array> arrays) {
  double waited = 0;
  for (const Bucket& bucket : buckets_) {
    std::vector<size_t> offsets(static_cast<size_t>(group_.size())), counts(offsets.size());
    int64_t size = 0;
    const Array* like = nullptr;
    for (const Piece& piece : bucket) {
      const Array& array = arrays[piece.member];
      if (!array.is_defined()) continue;
      like = &array;
      size += piece.part.size();
      counts[static_cast<size_t>(piece.rank)] += static_cast<size_t>(piece.part.size() * itemsize(array.dtype()));
    }
    if (like == nullptr) continue;
    std::exclusive_scan(counts.begin(), counts.end(), offsets.begin(), size_t{0});
    const Array buffer = empty({size}, like->dtype());
    const auto copy_all = [&](bool is_own, const auto& copy) {
      int64_t at = 0;
      for (const Piece& piece : bucket) {
        const Array& array = arrays[piece.member];
        if (!array.is_defined()) continue;
        const Array slot = buffer.slice(0, at, piece.part.size());
        at += piece.part.size();
        if ((piece.rank == group_.rank()) == is_own) copy(in_a_row(array, piece.part), slot);
      }
    };
    copy_all(true, [](const Array& part, const Array& slot) { slot.copy_from(part.to_device(Device())); });
    const collectives::TicketPtr ticket = group_.start_allgather({kParts}, buffer.raw_data(), offsets, counts);
    ticket->held = std::make_shared<const Array>(buffer);
    waited += group_.wait(*ticket, {kParts});
    copy_all(false, [](const Array& part, const Array& slot) { part.copy_from(slot); });
  }
  return waited;
}

void StateShards::make_whole(std::span<const Member> members, bool everywhere) {
  std::string own;
  for (const Member& member : members) own.push_back(member.rule->part ? 1 : 0);
  const std::vector<std::string> all = group_.allgather({"parts of states"}, own);
  for (size_t i = 0; i < members.size(); ++i) {
    const auto has_part = [&](const std::string& rank) { return rank[i] != 0; };
    if (std::none_of(all.begin(), all.end(), has_part)) continue;
    KernelRule& rule = *members[i].rule;
    const Parameter& parameter = *members[i].parameter;
    const bool is_at_root = !has_part(all[0]);
    if (!is_at_root && !std::all_of(all.begin(), all.end(), has_part)) {
      const std::string text = "Optimizer::update: the state of '" + parameter.name() +
                               "' is spread over the ranks, of which some have read another one: read it on all ranks, "
                               "or on rank 0";
      group_.fail("StateError: " + text);
      throw StateError(text);
    }
    if (is_at_root && !everywhere) continue;
    std::vector<Array> states;
    const auto make = [&](const Array& mine) {
      if (!is_at_root) return whole(parameter, *rule.part, mine, everywhere);
      const std::string message =
          group_.bcast({"the root's state"}, mine.is_defined() ? serializers::pack_array(mine) : std::string(), 0);
      if (group_.rank() == 0) return mine;
      return message.empty() ? Array() : serializers::unpack_array(message);
    };
    for (size_t k = 0; k < rule.names.size(); ++k)
      states.push_back(make(k < rule.states.size() ? rule.states[k] : Array()));
    const Array master =
        is_half(parameter.dtype()) ? make(rule.master != nullptr ? rule.master->array() : Array()) : Array();
    if (!everywhere && group_.rank() != 0) continue;
    rule.part.reset();
    rule.rounded.reset();
    const bool has_all =
        std::all_of(states.begin(), states.end(), [](const Array& state) { return state.is_defined(); });
    rule.states = has_all ? std::move(states) : std::vector<Array>();
    rule.master = master.is_defined() ? std::make_unique<Parameter>(master) : nullptr;
  }
}

// Undefined where nobody has any of it.
Array StateShards::whole(const Parameter& parameter, const ParameterPart& part, const Array& own, bool everywhere) {
  const std::string message = own.is_defined() ? serializers::pack_array(own) : std::string();
  const collectives::Operation operation{kParts, parameter.name()};
  const std::vector<std::string> messages =
      everywhere ? group_.allgather(operation, message) : group_.gather(operation, message, 0);
  std::vector<Array> parts;
  for (const std::string& other : messages) {
    if (!other.empty()) parts.push_back(serializers::unpack_array(other));
  }
  if (parts.size() <= 1) return parts.empty() ? Array() : parts[0];
  const Array flat = empty({parameter.size()}, parts[0].dtype());
  int64_t at = 0;
  for (const Array& piece : parts) {
    flat.slice(0, at, piece.size()).copy_from(piece);
    at += piece.size();
  }
  return flat.as_strided(parameter.shape(), part.order);
}

}  // namespace kusari::detail
