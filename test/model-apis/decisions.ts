// The reasons for which our lists in `model-bodies.ts` differ from what the model SDKs know. A test
// insists that each difference is named here, and nothing else. White space stands between names.

/** Names by their body in `model-bodies.ts`, as they are logged, or values of the beta headers. */
type Reason = Readonly<Partial<Record<string, string>>> & { why: string };

/** Parts that an SDK knows and the gateway leaves out. */
export const LEFT_OUT: readonly Reason[] = [
  {
    why: "Tools that run at the provider, and what they did or may do there",
    anthropic: `
      container mcp_servers tools[code_execution] tools[tool_search_tool_bm25]
      tools[tool_search_tool_regex] tools[web_fetch] tools[web_search] tools[advisor]
      tools[mcp_toolset] messages.content[server_tool_use]
      messages.content[bash_code_execution_tool_result]
      messages.content[code_execution_tool_result]
      messages.content[text_editor_code_execution_tool_result]
      messages.content[tool_search_tool_result] messages.content[web_fetch_tool_result]
      messages.content[web_search_tool_result] messages.content[advisor_tool_result]
      messages.content[mcp_tool_listing] messages.content[mcp_tool_use]
      messages.content[mcp_tool_result] messages.content[tool_use].caller
      tools[custom].allowed_callers tools[bash].allowed_callers tools[text_editor].allowed_callers
      tools[computer].allowed_callers tools[memory].allowed_callers
    `,
    openAiChat: "web_search_options",
    openAiResponses: `
      tools[file_search] tools[code_interpreter] tools[image_generation] tools[mcp]
      tools[programmatic_tool_calling] tools[web_search_preview]
      tools[web_search_preview_2025_03_11] tools[web_search] tools[web_search_2025_08_26]
      input[code_interpreter_call] input[file_search_call] input[web_search_call]
      input[image_generation_call] input[mcp_approval_request] input[mcp_approval_response]
      input[mcp_call] input[mcp_list_tools] input[program] input[program_output]
      input[function_call].caller input[custom_tool_call].caller
      input[custom_tool_call_output].caller input[shell_call].caller
      input[shell_call_output].caller input[apply_patch_call].caller
      input[apply_patch_call_output].caller tools[function].allowed_callers
      tools[custom].allowed_callers tools[shell].allowed_callers tools[apply_patch].allowed_callers
      input[shell_call].environment tools[shell].environment.file_ids
      tools[shell].environment.memory_limit tools[shell].environment.network_policy
      tools[shell].environment.container_id
    `,
    gemini: `
      tools.retrieval tools.googleMaps tools.mcpServers tools.codeExecution
      tools.enterpriseWebSearch tools.exaAiSearch tools.googleSearch tools.googleSearchRetrieval
      tools.parallelAiSearch tools.urlContext tools.fileSearch toolConfig.retrievalConfig
      toolConfig.includeServerSideToolInvocations contents.parts.toolCall
      contents.parts.toolResponse contents.parts.executableCode contents.parts.codeExecutionResult
    `,
    betas: `
      advisor-tool-2026-03-01 code-execution-2025-05-22 mcp-client-2025-04-04 mcp-client-2025-11-20
      mcp-client-2026-09-15 mcp-tunnels-2026-06-22 skills-2025-10-02
    `,
  },
  {
    why: "Tools that come within a conversation, where those that run at the provider could hide",
    anthropic: "messages.content[tool_addition] messages.content[tool_removal]",
    openAiResponses: "input[additional_tools]",
    betas: "inline-tools-2026-09-15 mid-conversation-tool-changes-2026-07-01",
  },
  {
    why: "Another price, speed, model or payer than the project's budget is made for",
    anthropic: `
      service_tier speed inference_geo billing_policy fallbacks fallback_credit_token
      messages.content[fallback]
    `,
    openAiChat: "service_tier",
    openAiResponses: "service_tier reasoning.mode access_programs",
    gemini: "serviceTier generationConfig.routingConfig generationConfig.modelSelectionConfig",
    geminiCount: "generateContentRequest.serviceTier",
    betas: `
      context-1m-2025-08-07 fast-mode-2026-02-01 fallback-credit-2026-06-01
      fallback-credit-2026-07-01 server-side-fallback-2026-06-01 server-side-fallback-2026-07-01
      user-profiles-billing-2026-10-01
    `,
  },
  {
    why: "Stored at the provider or elsewhere, or answered in another request, whose usage isn't seen here",
    anthropic: "thread",
    openAiResponses: "background background_options",
    gemini: `
      store generationConfig.generationOutputConfig generationConfig.continuationToken
      generationConfig.modelArmorConfig
    `,
    geminiCount: "generateContentRequest.store",
    betas: `
      agent-memory-2026-07-22 files-api-2025-04-14 message-batches-2024-09-24
      message-threads-2026-08-12
    `,
  },
  {
    why: "Summaries that the provider makes of a conversation. Their usage is reported apart",
    anthropic: "compaction context_management.edits[compact] messages.content[compaction]",
    openAiResponses: "context_management",
    betas: "compact-2026-01-12 compact-2026-09-04",
  },
  {
    why: "Answers that aren't text, and speech. They have other prices",
    openAiChat: "audio modalities messages.audio",
    gemini: `
      generationConfig.responseModalities generationConfig.responseFormat
      generationConfig.speechConfig generationConfig.imageConfig generationConfig.audioTimestamp
      generationConfig.audioTranscriptionConfig generationConfig.enableAffectiveDialog
      generationConfig.translationConfig contents.parts.audioTranscription
      contents.parts.speechMetadata
    `,
  },
  {
    why: "Other models that look at the request, or notes about it",
    anthropic: "diagnostics",
    openAiChat: "moderation",
    openAiResponses: "moderation",
    gemini: "labels generationConfig.enableEnhancedCivicAnswers",
    geminiCount: "generateContentRequest.labels",
    betas: "cache-diagnosis-2026-04-07",
  },
  {
    why: "What the SDK does itself, and doesn't send to this API",
    gemini: `
      tools.tool tools.callTool generationConfig.automaticFunctionCalling
      generationConfig.automaticContinuation contents.parts.functionCall.partialArgs
      contents.parts.functionCall.willContinue
    `,
  },
  {
    why: "OpenAI's prompt caches: a longer life may cost more, and they can name a stored response",
    openAiChat: `
      prompt_cache_options messages.content[text].prompt_cache_breakpoint
      messages.content[file].prompt_cache_breakpoint
      messages.content[image_url].prompt_cache_breakpoint
      messages.content[input_audio].prompt_cache_breakpoint
    `,
    openAiResponses: `
      prompt_cache_options input[message].content[input_text].prompt_cache_breakpoint
      input[message].content[input_image].prompt_cache_breakpoint
      input[message].content[input_file].prompt_cache_breakpoint
    `,
  },
  {
    why: "Nothing that we know speaks against it, but no agent in docs/agents.md sends it",
    anthropic: `
      messages.clear_at messages.output_config messages.content[image].transformations
      thinking.block_binding tools[browser_toolset] tools[computer_toolset]
      messages.content[tool_use].toolset_name messages.content[tool_result].toolset_name
      messages.content[tool_result].content[browser_state]
    `,
    openAiResponses: `
      image reasoning.context input[configuration_update] input[function_call_output].namespace
      input[function_call].async input[custom_tool_call].async tools[function].async
      tools[custom].async
    `,
    gemini: `
      tools.computerUse contents.parts.partMetadata contents.parts.mediaProcessing
      contents.parts.functionResponse.parts.mediaProcessing
    `,
    betas: `
      computer-use-2024-10-22 mid-conversation-output-config-2026-07-01
      mid-conversation-system-clear-at-2026-08-21 thinking-binding-controls-2026-08-01
    `,
  },
  {
    why: "Other APIs than that of messages, and what isn't described",
    betas: `
      admin-user-sign-out-2026-10-08 analytics-usage-cost-2026-08-24
      ce-claude-code-managed-settings-2026-10-06 ce-plugins-2026-09-01
      ce-user-management-2026-07-13 dev-full-thinking-2025-05-14 dreaming-2026-04-21 efs-2026-10-01
      experimental-claude-tag-2026-10-21 google-managed-data-controls-2026-09-01
      managed-agents-2026-04-01 spend-limit-reads-2026-09-26 telemetry-destinations-2026-08-11
      user-profiles-2026-03-24 user-profiles-2026-08-18 user-profiles-2026-09-04
      webhooks-2026-10-07
    `,
  },
];

/** Parts that the gateway lets pass and no SDK knows. */
export const ALLOWED_BESIDES: readonly Reason[] = [
  {
    why: "Fields that the SDK no longer has. Older models and agents use them",
    anthropic: "temperature top_p top_k",
  },
  {
    why: "Fields of other providers, whose APIs are like OpenAI's: samplers, reasoning and its cost",
    openAiChat: `
      top_k min_p repetition_penalty enable_thinking thinking_budget chat_template_kwargs reasoning
      thinking usage messages.reasoning messages.reasoning_content messages.reasoning_details
      messages.reasoning_opaque messages.reasoning_text messages.content[thinking]
      messages.content[video_url] messages.content[audio_url]
      messages.content[image_url].image_url.format messages.tool_calls[function].extra_content
    `,
  },
  {
    why: "Marks for a prompt cache that providers with an API like OpenAI's take over from Anthropic",
    openAiChat: `
      messages.cache_control tools[function].cache_control messages.content[text].cache_control
      messages.content[file].cache_control messages.content[image_url].cache_control
    `,
  },
  {
    why: "Parts of a provider's answer that agents send back as they came",
    openAiChat: "messages.tool_calls[custom].index messages.tool_calls[function].index",
    openAiResponses: `
      input[compaction_summary] input[custom_tool_call].status
      input[local_shell_call_output].call_id input[message].content[text]
      input[computer_call_output].output[computer_screenshot].detail
    `,
  },
  {
    why: "What agents send although it isn't in this API, or only in a neighboring type",
    anthropic: `
      tools[memory].description tools[bash].description tools[text_editor].description
      tools[computer].description
    `,
    openAiChat: "functions.strict",
    openAiResponses: "client_metadata input[message].content[input_audio]",
    gemini: "contents.parts.functionResponse.parts.mediaResolution",
  },
  {
    why: "Betas of agents and of OpenAI, and betas that the SDK no longer lists",
    betas: `
      advanced-tool-use-2025-11-20 claude-code-20250219 effort-2025-11-24
      fine-grained-tool-streaming-2025-05-14 mid-conversation-system-2026-04-07
      prompt-caching-scope-2026-01-05 redact-thinking-2026-02-12 responses=experimental
      structured-outputs-2025-12-15 tool-examples-2025-10-29 tool-search-tool-2025-10-19
    `,
  },
];

/** The names in these reasons, each with its body before it. */
export function namesIn(reasons: readonly Reason[]): string[] {
  return reasons
    .flatMap((reason) => Object.entries(reason))
    .filter(([body]) => body !== "why")
    .flatMap(([body, names = ""]) =>
      names
        .trim()
        .split(/\s+/)
        .map((name) => `${body}.${name}`),
    );
}
