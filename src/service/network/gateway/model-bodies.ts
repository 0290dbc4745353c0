import {
  any,
  around,
  byType,
  data,
  dataUrl,
  later,
  linked,
  object,
  type Shape,
  stored,
  textOr,
} from "./body-shape.ts";

// Only what costs the price of the model that is named, in tokens that are reported, and what
// happens on the agent's side. Not here, for example: tiers and speeds with other prices, other
// models, tools that run at the provider, and requests whose usage comes later or apart. A test
// compares this with the providers' SDKs, and has a reason for each difference.

/** If a list ends up empty, it isn't sent, because providers refuse an empty one. */
function toolsOf(shape: Shape): Shape {
  return around(
    () => shape,
    (value, place) => {
      const kept = shape(value, place);
      return Array.isArray(kept) && kept.length === 0 ? undefined : kept;
    },
  );
}

const anthropicTool = "name description cache_control defer_loading strict input_examples";
const anthropicTools = toolsOf(
  byType(
    {
      custom: object(`${anthropicTool} input_schema eager_input_streaming`),
      bash: object(anthropicTool),
      text_editor: object(`${anthropicTool} max_characters`),
      computer: object(`${anthropicTool} display_width_px display_height_px display_number enable_zoom`),
      memory: object(anthropicTool),
    },
    { untyped: "custom", kind: "tools" },
  ),
);
/** Content blocks can contain content blocks. */
const anthropicContent = later(() => anthropicBlocks);
const anthropicSource = byType({
  base64: object("media_type", { data }),
  text: object("media_type data"),
  content: object("", { content: textOr(anthropicContent) }),
  url: linked,
  file: linked,
});
const anthropicBlocks: Shape = byType({
  text: object("text cache_control citations"),
  image: object("cache_control", { source: anthropicSource }),
  document: object("cache_control title context citations", { source: anthropicSource }),
  search_result: object("cache_control source title content citations"),
  thinking: object("thinking signature"),
  redacted_thinking: object("data"),
  tool_use: object("id name input cache_control"),
  tool_result: object("tool_use_id is_error cache_control", { content: textOr(anthropicContent) }),
  tool_reference: object("tool_name cache_control"),
  container_upload: linked,
});

export const anthropic = object(
  "model max_tokens stream temperature top_p top_k stop_sequences metadata cache_control " +
    "tool_choice output_format",
  {
    system: textOr(anthropicContent),
    messages: object("role", { content: textOr(anthropicContent) }),
    tools: anthropicTools,
    thinking: object("budget_tokens display"),
    output_config: object("effort format task_budget"),
    context_management: object("", {
      edits: byType({
        clear_tool_uses: object("trigger keep clear_at_least exclude_tools clear_tool_inputs"),
        clear_thinking: object("keep"),
      }),
    }),
  },
);

const openAiFunction = "name description parameters strict";
const chatParts = byType({
  text: object("text cache_control"),
  refusal: object("refusal"),
  thinking: object("thinking signature"),
  image_url: object("cache_control", { image_url: urlOr(object("detail format", { url: dataUrl })) }),
  video_url: object("", { video_url: urlOr(object("", { url: dataUrl })) }),
  audio_url: object("", { audio_url: urlOr(object("", { url: dataUrl })) }),
  input_audio: object("", { input_audio: object("format", { data }) }),
  file: object("cache_control", { file: object("filename", { file_data: data, file_id: linked }) }),
});

function urlOr(shape: Shape): Shape {
  return around(
    () => shape,
    (value, place) => (typeof value === "string" ? dataUrl : shape)(value, place),
  );
}

export const openAiChat = object(
  "model stream temperature top_p top_k min_p n stop max_tokens max_completion_tokens seed tool_choice " +
    "function_call presence_penalty frequency_penalty repetition_penalty logit_bias logprobs top_logprobs " +
    "response_format prediction parallel_tool_calls reasoning_effort verbosity store metadata user " +
    "safety_identifier prompt_cache_key prompt_cache_retention enable_thinking thinking_budget " +
    "chat_template_kwargs",
  {
    messages: object(
      "role name refusal tool_call_id reasoning reasoning_content reasoning_details " +
        "reasoning_opaque reasoning_text cache_control",
      {
        content: textOr(chatParts),
        function_call: object("name arguments"),
        tool_calls: byType(
          {
            function: object("id index extra_content", { function: object("name arguments") }),
            custom: object("id index", { custom: object("name input") }),
          },
          { untyped: "function" },
        ),
      },
    ),
    tools: toolsOf(
      byType(
        {
          function: object("cache_control", { function: object(openAiFunction) }),
          custom: object("", { custom: object("name description format") }),
        },
        { kind: "tools" },
      ),
    ),
    functions: object(openAiFunction),
    stream_options: object("include_usage include_obfuscation"),
    reasoning: object("effort max_tokens exclude enabled summary"),
    thinking: object("budget_tokens clear_thinking"),
    usage: object("include"),
  },
);

const localShell = object("", { environment: object("skills") });
/** A shell that isn't on the agent's side runs in the provider's container. */
const shell = around(
  () => localShell,
  (tool, place) => {
    const environment: unknown = Object(tool).environment;
    if (Object(environment).type === "local") return localShell(tool, place);
    place.onLeftOut("tools", "shell");
    return undefined;
  },
);
const responsesTools: Shape = toolsOf(
  byType(
    {
      function: object(`${openAiFunction} defer_loading output_schema`),
      custom: object("name description format defer_loading"),
      namespace: object("name description", { tools: later(() => responsesTools) }),
      shell,
      local_shell: object(""),
      apply_patch: object(""),
      computer: object(""),
      computer_use_preview: object("display_width display_height environment"),
      tool_search: object("execution description parameters"),
    },
    { kind: "tools" },
  ),
);

const responsesParts = byType({
  input_text: object("text"),
  output_text: object("text annotations logprobs"),
  text: object("text"),
  summary_text: object("text"),
  reasoning_text: object("text"),
  refusal: object("refusal"),
  input_image: object("detail", { image_url: dataUrl, file_id: linked }),
  input_file: object("filename detail", { file_data: data, file_url: linked, file_id: linked }),
  input_audio: object("", { input_audio: object("format", { data }) }),
  computer_screenshot: object("detail", { image_url: dataUrl, file_id: linked }),
});
const call = "id call_id status";
const output = object(`${call} name`, { output: textOr(responsesParts) });
const responsesItems = byType(
  {
    message: object("id role status phase", { content: textOr(responsesParts) }),
    reasoning: object("id status encrypted_content", { summary: responsesParts, content: responsesParts }),
    function_call: object(`${call} name namespace arguments`),
    function_call_output: output,
    custom_tool_call: object(`${call} name namespace input`),
    custom_tool_call_output: output,
    local_shell_call: object(`${call} action`),
    local_shell_call_output: object(`${call} output`),
    shell_call: object(`${call} action`),
    shell_call_output: object(`${call} output max_output_length`),
    apply_patch_call: object(`${call} operation`),
    apply_patch_call_output: object(`${call} output`),
    computer_call: object(`${call} action actions pending_safety_checks`),
    computer_call_output: object(`${call} acknowledged_safety_checks`, { output: responsesParts }),
    tool_search_call: object(`${call} arguments execution`),
    tool_search_output: object(`${call} execution`, { tools: responsesTools }),
    compaction: object("id encrypted_content"),
    compaction_summary: object("id encrypted_content"),
    compaction_trigger: object("id"),
    item_reference: stored,
  },
  { untyped: "message" },
);

export const openAiResponses = object(
  "model instructions stream temperature top_p top_logprobs max_output_tokens max_tool_calls tool_choice " +
    "parallel_tool_calls include store truncation metadata client_metadata user safety_identifier " +
    "prompt_cache_key prompt_cache_retention",
  {
    input: textOr(
      around(
        () => responsesItems,
        (value, place) => withoutBareIds(responsesItems(value, place), place),
      ),
    ),
    tools: responsesTools,
    reasoning: object("effort summary generate_summary"),
    text: object("verbosity", { format: any }),
    stream_options: object("include_obfuscation"),
    conversation: stored,
    previous_response_id: stored,
    prompt: stored,
  },
);

/**
 * The fields that an item with an id must also have, by its type. A summary doesn't replace what it
 * summarizes.
 */
const CONTENT = new Map([
  ["message", ["content"]],
  ["reasoning", ["content", "encrypted_content"]],
  ["compaction", ["encrypted_content"]],
  ["compaction_summary", ["encrypted_content"]],
]);

/** An item without its content refers to a stored one, whatever role it names. */
function withoutBareIds(items: unknown, place: Parameters<Shape>[1]): unknown {
  for (const item of Array.isArray(items) ? items : [items]) {
    const { type = null, content = null, id = null, ...rest } = Object(item);
    const needed = CONTENT.get(String(type ?? "message").replace(/_\d{8}$/, "")) ?? [];
    const isEmpty = needed.every((name) => !(name === "content" ? content : rest[name])?.length);
    const isBare = id === null ? type === null && content === null : needed.length > 0 && isEmpty;
    if (isBare) stored(item, place);
  }
  return items;
}

/** Gemini's API reads names in camel case and in snake case. */
function eitherCase(names: string, nested: Readonly<Record<string, Shape>> = {}): Shape {
  return object(names, nested, { alsoSnakeCase: true });
}
const blob = eitherCase("mimeType displayName", { data });
const geminiPart = eitherCase("text thought thoughtSignature videoMetadata mediaResolution", {
  inlineData: blob,
  fileData: linked,
  functionCall: eitherCase("id name args"),
  functionResponse: eitherCase("id name response scheduling willContinue", {
    parts: eitherCase("mediaResolution", { inlineData: blob, fileData: linked }),
  }),
});
const geminiContent = eitherCase("role", { parts: geminiPart });
const geminiFunctions = object("functionDeclarations", {}, { alsoSnakeCase: true, kind: "tools" });
/** A Gemini tool has one field for each kind of tool. Only functions run on the agent's side. */
const geminiTools = around(
  () => geminiFunctions,
  (value, place) => {
    const kept = geminiFunctions(value, place);
    return Array.isArray(kept) ? kept.filter((tool) => Object.keys(Object(tool)).length > 0) : kept;
  },
);
const geminiFields = {
  contents: geminiContent,
  systemInstruction: geminiContent,
  tools: toolsOf(geminiTools),
  toolConfig: eitherCase("", {
    functionCallingConfig: eitherCase("mode allowedFunctionNames streamFunctionCallArguments"),
  }),
  generationConfig: eitherCase(
    "candidateCount maxOutputTokens temperature topP topK seed stopSequences presencePenalty " +
      "frequencyPenalty responseMimeType responseSchema responseJsonSchema responseLogprobs logprobs " +
      "mediaResolution",
    { thinkingConfig: eitherCase("includeThoughts thinkingBudget thinkingLevel") },
  ),
  cachedContent: stored,
};

export const gemini = eitherCase("safetySettings", geminiFields);
export const geminiCount = eitherCase("", {
  contents: geminiContent,
  generateContentRequest: eitherCase("model safetySettings", geminiFields),
});

/**
 * The values of `anthropic-beta` and `openai-beta` that change no price, run nothing at the
 * provider, and access nothing stored there.
 */
export const KNOWN_BETAS: ReadonlySet<string> = new Set(
  [
    "advanced-tool-use-2025-11-20 claude-code-20250219 computer-use-2025-01-24 computer-use-2025-11-24",
    "context-management-2025-06-27 effort-2025-11-24 extended-cache-ttl-2025-04-11",
    "fine-grained-tool-streaming-2025-05-14 interleaved-thinking-2025-05-14",
    "mid-conversation-system-2026-04-07 model-context-window-exceeded-2025-08-26 output-128k-2025-02-19",
    "output-300k-2026-03-24 pdfs-2024-09-25 prompt-caching-2024-07-31 prompt-caching-scope-2026-01-05",
    "redact-thinking-2026-02-12 responses=experimental structured-outputs-2025-11-13",
    "structured-outputs-2025-12-15 task-budgets-2026-03-13 thinking-display-updates-2026-08-18",
    "thinking-token-count-2026-05-13 token-counting-2024-11-01 token-efficient-tools-2025-02-19",
    "tool-examples-2025-10-29 tool-search-tool-2025-10-19",
  ].flatMap((line) => line.split(" ")),
);
