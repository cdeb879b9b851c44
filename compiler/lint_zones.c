/* SPDX-License-Identifier: MIT */
/*
 * What is known of zones: where anyone can have a name or an account, and whose addresses many names share.  Zones of
 * the public suffix list, and wildcards on them, are not here: the compiler refuses those.
 */
#include <string.h>

#include "compiler/hosts.h"
#include "compiler/lint_zones.h"

/* By name: each customer has one below.  By path: all customers have the same one. */
enum { BY_NAME, BY_PATH };

static const struct {
	struct zone zone;
	int by;
} shared[] = {
	/* storage */
	{ { "blob.core.windows.net", "a storage account of anyone's", false }, BY_NAME },
	{ { "file.core.windows.net", "a storage account of anyone's", false }, BY_NAME },
	{ { "queue.core.windows.net", "a storage account of anyone's", false }, BY_NAME },
	{ { "table.core.windows.net", "a storage account of anyone's", false }, BY_NAME },
	{ { "dfs.core.windows.net", "a storage account of anyone's", false }, BY_NAME },
	{ { "storage.googleapis.com", "a bucket of anyone's", false }, BY_NAME },
	{ { "storage.googleapis.com", "a bucket of anyone's", false }, BY_PATH },
	{ { "s3.amazonaws.com", "a bucket of anyone's", false }, BY_PATH },
	{ { "r2.cloudflarestorage.com", "a bucket of anyone's", false }, BY_NAME },
	{ { "backblazeb2.com", "a bucket of anyone's", false }, BY_NAME },
	{ { "wasabisys.com", "a bucket of anyone's", false }, BY_NAME },
	{ { "aliyuncs.com", "a bucket of anyone's", false }, BY_NAME },
	{ { "myqcloud.com", "a bucket of anyone's", false }, BY_NAME },
	{ { "googleusercontent.com", "content of anyone's", false }, BY_NAME },
	{ { "dropboxusercontent.com", "content of anyone's", false }, BY_NAME },
	/* services of a cloud */
	{ { "database.windows.net", "a database of anyone's", false }, BY_NAME },
	{ { "redis.cache.windows.net", "a database of anyone's", false }, BY_NAME },
	{ { "documents.azure.com", "a database of anyone's", false }, BY_NAME },
	{ { "servicebus.windows.net", "a message bus of anyone's", false }, BY_NAME },
	{ { "vault.azure.net", "a vault of anyone's", false }, BY_NAME },
	{ { "azurecr.io", "a registry of anyone's", false }, BY_NAME },
	{ { "azureedge.net", "a site of anyone's", false }, BY_NAME },
	{ { "azurefd.net", "a site of anyone's", false }, BY_NAME },
	{ { "trafficmanager.net", "a site of anyone's", false }, BY_NAME },
	{ { "openai.azure.com", "a service of anyone's", false }, BY_NAME },
	{ { "mongodb.net", "a database of anyone's", false }, BY_NAME },
	{ { "firebaseio.com", "a database of anyone's", false }, BY_NAME },
	{ { "snowflakecomputing.com", "a database of anyone's", false }, BY_NAME },
	{ { "b-cdn.net", "a site of anyone's", false }, BY_NAME },
	{ { "kxcdn.com", "a site of anyone's", false }, BY_NAME },
	/* sites and accounts */
	{ { "atlassian.net", "a customer's site", false }, BY_NAME },
	{ { "auth0.com", "a customer's account", false }, BY_NAME },
	{ { "force.com", "a customer's site", false }, BY_NAME },
	{ { "hf.space", "a page of anyone's", false }, BY_NAME },
	{ { "ingest.sentry.io", "a customer's account", false }, BY_NAME },
	{ { "jfrog.io", "a customer's site", false }, BY_NAME },
	{ { "my.salesforce.com", "a customer's site", false }, BY_NAME },
	{ { "okta.com", "a customer's account", false }, BY_NAME },
	{ { "replit.app", "a page of anyone's", false }, BY_NAME },
	{ { "service-now.com", "a customer's site", false }, BY_NAME },
	{ { "sharepoint.com", "a customer's site", false }, BY_NAME },
	{ { "slack.com", "a customer's site", false }, BY_NAME },
	{ { "squarespace.com", "a page of anyone's", false }, BY_NAME },
	{ { "substack.com", "a page of anyone's", false }, BY_NAME },
	{ { "tumblr.com", "a page of anyone's", false }, BY_NAME },
	{ { "wordpress.com", "a page of anyone's", false }, BY_NAME },
	{ { "zendesk.com", "a customer's site", false }, BY_NAME },
	/* messages */
	{ { "api.telegram.org", "a channel of anyone's", false }, BY_PATH },
	{ { "discord.com", "a channel of anyone's", false }, BY_PATH },
	{ { "hooks.slack.com", "a channel of anyone's", false }, BY_PATH },
	/* made to keep, for whoever sends or asks, what is sent there */
	{ { "beeceptor.com", "a collector of requests", true }, BY_NAME },
	{ { "burpcollaborator.net", "a collector of requests", true }, BY_NAME },
	{ { "interact.sh", "a collector of requests", true }, BY_NAME },
	{ { "loca.lt", "a tunnel to anyone's machine", true }, BY_NAME },
	{ { "ngrok-free.app", "a tunnel to anyone's machine", true }, BY_NAME },
	{ { "oast.fun", "a collector of requests", true }, BY_NAME },
	{ { "oastify.com", "a collector of requests", true }, BY_NAME },
	{ { "pipedream.net", "a collector of requests", true }, BY_NAME },
	{ { "requestbin.net", "a collector of requests", true }, BY_NAME },
	{ { "serveo.net", "a tunnel to anyone's machine", true }, BY_NAME },
	{ { "webhook.site", "a collector of requests", true }, BY_NAME },
	{ { "webhook.site", "a collector of requests", true }, BY_PATH },
	{ { "0x0.st", "a store for whatever is sent", true }, BY_PATH },
	{ { "file.io", "a store for whatever is sent", true }, BY_PATH },
	{ { "paste.rs", "a store for whatever is sent", true }, BY_PATH },
	{ { "pastebin.com", "a store for whatever is sent", true }, BY_PATH },
	{ { "termbin.com", "a store for whatever is sent", true }, BY_PATH },
	{ { "transfer.sh", "a store for whatever is sent", true }, BY_PATH },
};

/* The name, and what is below it. */
static const struct {
	const char *zone, *network;
} networks[] = {
	{ "akamai.net", "Akamai" },
	{ "akamaiedge.net", "Akamai" },
	{ "akamaihd.net", "Akamai" },
	{ "akamaized.net", "Akamai" },
	{ "edgekey.net", "Akamai" },
	{ "edgesuite.net", "Akamai" },
	{ "amazonaws.com", "Amazon" },
	{ "cloudfront.net", "Amazon CloudFront" },
	{ "azureedge.net", "Azure" },
	{ "azurefd.net", "Azure" },
	{ "azurewebsites.net", "Azure" },
	{ "core.windows.net", "Azure" },
	{ "trafficmanager.net", "Azure" },
	{ "b-cdn.net", "bunny.net" },
	{ "api.openai.com", "Cloudflare" },
	{ "cdnjs.cloudflare.com", "Cloudflare" },
	{ "pages.dev", "Cloudflare" },
	{ "r2.cloudflarestorage.com", "Cloudflare" },
	{ "r2.dev", "Cloudflare" },
	{ "registry.npmjs.org", "Cloudflare" },
	{ "unpkg.com", "Cloudflare" },
	{ "workers.dev", "Cloudflare" },
	{ "cdn.jsdelivr.net", "jsDelivr's networks" },
	{ "deb.debian.org", "Fastly" },
	{ "dl-cdn.alpinelinux.org", "Fastly" },
	{ "fastly.net", "Fastly" },
	{ "fastlylb.net", "Fastly" },
	{ "files.pythonhosted.org", "Fastly" },
	{ "github.io", "Fastly" },
	{ "githubusercontent.com", "Fastly" },
	{ "pypi.org", "Fastly" },
	{ "rubygems.org", "Fastly" },
	{ "static.crates.io", "Fastly" },
	{ "fly.dev", "Fly.io" },
	{ "appspot.com", "Google" },
	{ "firebaseapp.com", "Google" },
	{ "firebaseio.com", "Google" },
	{ "googleapis.com", "Google" },
	{ "googleusercontent.com", "Google" },
	{ "proxy.golang.org", "Google" },
	{ "run.app", "Google" },
	{ "sum.golang.org", "Google" },
	{ "web.app", "Google" },
	{ "herokuapp.com", "Heroku" },
	{ "kxcdn.com", "KeyCDN" },
	{ "netlify.app", "Netlify" },
	{ "onrender.com", "Render" },
	{ "vercel.app", "Vercel" },
};

static bool is_in(const char *name, const char *zone)
{
	return strcmp(name, zone) == 0 || host_matches(&(struct host_pattern){ .name = zone, .below = true }, name);
}

/* A wildcard has names of customers if the zone is its base, or below it; one below the zone is a customer's own. */
const struct zone *zone_shared(const struct host_pattern *p)
{
	for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
		if (p->below ? is_in(shared[i].zone.name, p->name) && (shared[i].by == BY_NAME ||
								       strcmp(shared[i].zone.name, p->name) != 0) :
			       shared[i].by == BY_PATH && strcmp(shared[i].zone.name, p->name) == 0)
			return &shared[i].zone;
	return NULL;
}

const char *zone_network(const struct host_pattern *p)
{
	for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
		if (is_in(p->name, networks[i].zone) || (p->below && is_in(networks[i].zone, p->name)))
			return networks[i].network;
	return NULL;
}
