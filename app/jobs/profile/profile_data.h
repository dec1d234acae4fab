// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/profile/expression.h"
#include "app/jobs/profile/profile.h"

#include <optional>
#include <string>
#include <vector>

namespace attn::app {

/// What a profile's text says, parsed. Private to profile/.
struct Profile::Data {
  struct Named {
    std::string name;
    Expression value;
  };
  struct Mask {
    std::string dtype;
    std::vector<Expression> shape;
    Expression present;
  };
  struct Pass {
    std::string name;
    Expression runs;
    Expression batch;
    std::vector<Named> set;
  };
  struct Entry {
    std::string where;
    std::string kind;
    Expression calls;
    std::int64_t heads = 1;
    std::int64_t kv_heads = 1;
    std::int64_t head_dim = 0;
    Expression query;
    Expression key;
    std::vector<std::string> query_streams;
    std::vector<std::string> key_streams;
    std::optional<Mask> mask;
    bool causal = false;
    bool sdpa = true;
    std::optional<double> scale;
    std::optional<Expression> batch;
  };
  struct Component {
    std::string slot;
    std::string type;  ///< class name
    std::string role;
    std::string dtype;
    std::vector<Pass> passes;
    std::vector<Entry> entries;
  };
  std::vector<Named> values;
  std::vector<Component> components;
};

}  // namespace attn::app
