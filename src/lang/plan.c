/* lang/plan.c - the names of the algebra. */
#include "lang/plan.h"

#include "base/cleanup.h"

void plan_done(struct plan *p)
{
	arena_done(&p->arena);
	*p = (struct plan){0};
}

static const char *name_at(const char *const *names, size_t n, size_t i)
{
	return i < n && names[i] ? names[i] : "";
}

const char *plan_op_name(enum plan_op op)
{
	static const char *const names[PLAN_OPS] = {
		[PLAN_SOURCE] = "source", [PLAN_SPANSET] = "spanset",
		[PLAN_CSV] = "csv",       [PLAN_HBJOIN] = "happened-before join",
		[PLAN_EQUIJOIN] = "join", [PLAN_SEQUENCE] = "sequence",
		[PLAN_FILTER] = "filter", [PLAN_PROJECT] = "project",
		[PLAN_PICK] = "pick",     [PLAN_UNNEST] = "unnest",
		[PLAN_GROUP] = "group",   [PLAN_SORT] = "sort",
		[PLAN_LIMIT] = "limit",   [PLAN_DISTINCT] = "distinct",
		[PLAN_UNION] = "union",   [PLAN_SERIES] = "series",
		[PLAN_PIPE] = "pipe",     [PLAN_COMPARE] = "compare",
	};

	return name_at(names, ARRAY_SIZE(names), op);
}

const char *plan_field_name(enum plan_field field)
{
	static const char *const names[PLAN_FIELDS] = {
		[F_TRACE_ID] = "trace_id",
		[F_TIME] = "time",
		[F_NAME] = "name",
		[F_SERVICE] = "service",
		[F_HOST] = "host",
		[F_PROC_ID] = "procId",
		[F_PROC_NAME] = "procName",
		[F_THREAD_ID] = "threadId",
		[F_CPU] = "cpu",
		[F_ELEMENT] = "element",
		[F_TRACEPOINT] = "tracepoint",
		[F_SCOPE_NAME] = "instrumentation:name",
		[F_SCOPE_VERSION] = "instrumentation:version",
		[F_SPAN_ID] = "span_id",
		[F_PARENT_ID] = "parent_id",
		[F_KIND] = "kind",
		[F_STATUS] = "status",
		[F_STATUS_MESSAGE] = "statusMessage",
		[F_START] = "start",
		[F_END] = "end",
		[F_DURATION] = "duration",
		[F_SELF] = "self",
		[F_SLACK] = "slack",
		[F_CHILD_COUNT] = "childCount",
		[F_NESTED_LEFT] = "nestedSetLeft",
		[F_NESTED_RIGHT] = "nestedSetRight",
		[F_NESTED_PARENT] = "nestedSetParent",
		[F_CRITICAL] = "critical",
		[F_BLOCK] = "block",
		[F_EVENT_NAME] = "event:name",
		[F_EVENT_SINCE_START] = "event:timeSinceStart",
		[F_LINK_SPAN_ID] = "link:spanID",
		[F_LINK_TRACE_ID] = "link:traceID",
		[F_TYPE] = "type",
		[F_FROM] = "from",
		[F_TO] = "to",
		[F_CONFIDENCE] = "confidence",
		[F_QUEUED] = "queued",
		[F_VALUE] = "value",
		[F_THREAD] = "thread",
		[F_TRACE_ROOT] = "trace:rootName",
		[F_TRACE_ROOT_SERVICE] = "trace:rootService",
		[F_TRACE_DURATION] = "trace:duration",
		[F_TRACE_START] = "trace:start",
		[F_TRACE_END] = "trace:end",
		[F_TRACE_SPANS] = "trace:spans",
		[F_TRACE_ERRORS] = "trace:errors",
		[F_TRACE_SERVICES] = "trace:services",
		[F_TRACE_PATTERN] = "trace:pattern",
		[F_TRACE_PROBABILITY] = "trace:probability",
	};

	return name_at(names, ARRAY_SIZE(names), field);
}

const char *plan_operator_name(enum plan_operator op)
{
	static const char *const names[PLAN_OPERATORS] = {
		[XO_OR] = "||", [XO_AND] = "&&",   [XO_NOT] = "!",        [XO_EQ] = "=",
		[XO_NE] = "!=", [XO_LT] = "<",     [XO_LE] = "<=",        [XO_GT] = ">",
		[XO_GE] = ">=", [XO_MATCH] = "=~", [XO_NOT_MATCH] = "!~", [XO_IN] = "in",
		[XO_ADD] = "+", [XO_SUB] = "-",    [XO_MUL] = "*",        [XO_DIV] = "/",
		[XO_MOD] = "%", [XO_POW] = "^",    [XO_NEG] = "-",        [XO_INDEX] = "[]",
	};

	return name_at(names, ARRAY_SIZE(names), op);
}

const char *plan_aggregate_name(enum plan_aggregate_kind kind)
{
	static const char *const names[AGG_KINDS] = {
		[AGG_COUNT] = "COUNT",
		[AGG_SUM] = "SUM",
		[AGG_MIN] = "MIN",
		[AGG_MAX] = "MAX",
		[AGG_AVG] = "AVERAGE",
		[AGG_STDDEV] = "STDDEV",
		[AGG_DISTINCT] = "DISTINCT",
		[AGG_QUANTILE] = "quantile",
		[AGG_HISTOGRAM] = "histogram",
		[AGG_TOPK] = "topk",
		[AGG_FIRST] = "first",
		[AGG_LAST] = "last",
		[AGG_RATE] = "rate",
	};

	return name_at(names, ARRAY_SIZE(names), kind);
}

const char *plan_source_name(enum plan_source kind)
{
	static const char *const names[PLAN_SOURCES] = {
		[FROM_SPANS] = "spans",   [FROM_BLOCKS] = "blocks", [FROM_POINTS] = "points",
		[FROM_EDGES] = "edges",   [FROM_UNITS] = "units",   [FROM_COUNTERS] = "counters",
		[FROM_TRACES] = "traces", [FROM_EVENTS] = "events",
	};

	return name_at(names, ARRAY_SIZE(names), kind);
}

const char *plan_relation_name(enum plan_relation relation, enum plan_relation_form form)
{
	static const char *const names[][3] = {
		[REL_CHILD] = {">", "!>", "&>"},   [REL_DESCENDANT] = {">>", "!>>", "&>>"},
		[REL_PARENT] = {"<", "!<", "&<"},  [REL_ANCESTOR] = {"<<", "!<<", "&<<"},
		[REL_SIBLING] = {"~", "!~", "&~"},
	};

	return names[relation][form];
}

const char *plan_function_name(enum plan_function function)
{
	static const char *const names[PLAN_FUNCTIONS] = {
		[CALL_IF] = "if",
		[CALL_DEFAULT] = "default",
		[CALL_ABS] = "abs",
		[CALL_FLOOR] = "floor",
		[CALL_CEIL] = "ceil",
		[CALL_ROUND] = "round",
		[CALL_SQRT] = "sqrt",
		[CALL_LOG] = "log",
		[CALL_LOG2] = "log2",
		[CALL_LOG10] = "log10",
		[CALL_EXP] = "exp",
		[CALL_LENGTH] = "length",
		[CALL_LOWER] = "lower",
		[CALL_UPPER] = "upper",
		[CALL_CONTAINS] = "contains",
		[CALL_STARTS_WITH] = "startsWith",
		[CALL_ENDS_WITH] = "endsWith",
		[CALL_CONCAT] = "concat",
		[CALL_SUBSTRING] = "substring",
		[CALL_REPLACE] = "replace",
		[CALL_TO_STRING] = "string",
		[CALL_TO_INT] = "int",
		[CALL_TO_FLOAT] = "float",
		[CALL_LEAST] = "least",
		[CALL_GREATEST] = "greatest",
		[CALL_MOVING_AVERAGE] = "MovingAverage",
		[CALL_SKETCH] = "sketch",
		[CALL_WINDOWS] = "windows",
		[CALL_WHAT_IF] = "WhatIf",
	};

	return name_at(names, ARRAY_SIZE(names), function);
}

const char *plan_type_name(enum plan_type type)
{
	static const char *const names[PLAN_TYPES] = {
		[PLAN_NIL] = "nil",       [PLAN_BOOL] = "bool", [PLAN_INT] = "int",
		[PLAN_FLOAT] = "float",   [PLAN_TIME] = "time", [PLAN_DURATION] = "duration",
		[PLAN_STATUS] = "status", [PLAN_KIND] = "kind", [PLAN_STRING] = "string",
		[PLAN_LIST] = "list",     [PLAN_ANY] = "any",
	};

	return name_at(names, ARRAY_SIZE(names), type);
}

bool plan_expr_has_state(const struct plan_expr *e)
{
	if (e->kind != X_OP && e->kind != X_CALL && e->kind != X_LIST)
		return false;
	if (e->kind == X_CALL && e->function == CALL_WHAT_IF)
		return false;
	if (e->kind == X_CALL && plan_has_state(e->function))
		return true;
	for (uint32_t i = 0; i < e->n; i++)
		if (plan_expr_has_state(e->args[i]))
			return true;
	return false;
}
