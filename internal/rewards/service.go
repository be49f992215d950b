package rewards

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"stockrewards/internal/money"
)

// Store is what the use cases read. Every method sees all commits before its call.
type Store interface {
	WebhookStore
	// AppByKey returns the key with that hash and its app, even if the key is expired or
	// revoked. It fails with CodeNotFound.
	AppByKey(ctx context.Context, hash KeyHash) (Key, App, error)
	// AccountMode returns the mode of the broker's account that the store is pinned to;
	// ModeUnknown while it is not pinned.
	AccountMode(ctx context.Context) (Mode, error)
	// User returns a user of the app, or fails with CodeNotFound.
	User(ctx context.Context, app AppID, id UserID) (User, error)
	// Users lists users of the app, newest first.
	Users(ctx context.Context, app AppID, f UserFilter, p Page[User]) ([]User, error)
	// Reward returns a reward of the app, or fails with CodeNotFound.
	Reward(ctx context.Context, app AppID, id RewardID) (Reward, error)
	// Rewards lists rewards of the app, newest first.
	Rewards(ctx context.Context, app AppID, f RewardFilter, p Page[Reward]) ([]Reward, error)
	// Holdings lists a user's holdings, which the caller must not change. It fails with
	// CodeNotFound when the app has no such user.
	Holdings(ctx context.Context, app AppID, user UserID) ([]Holding, error)
	// CatalogNumber grows when this process may have changed what Assets lists, once that can be read.
	CatalogNumber() int64
	// ForgetHoldings lets Holdings read the user's again, if they were kept in memory.
	ForgetHoldings(app AppID, user UserID)
	// Activity lists what changed a user's holdings, newest first: its entries add up to Holdings at
	// the same moment. It fails with CodeNotFound when the app has no such user.
	Activity(ctx context.Context, app AppID, user UserID, p ActivityPage) ([]UserActivity, error)
	// Reversal returns a reversal of the app, or fails with CodeNotFound.
	Reversal(ctx context.Context, app AppID, id ReversalID) (Reversal, error)
	// Reversals lists reversals of the app, newest first.
	Reversals(ctx context.Context, app AppID, f ReversalFilter, p Page[Reversal]) ([]Reversal, error)
	// History returns what is known of how a reward of the app was bought, or fails with
	// CodeNotFound.
	History(ctx context.Context, app AppID, id RewardID) (History, error)
	// Assets lists the catalog, sorted by symbol, including disabled assets.
	Assets(ctx context.Context) ([]Asset, error)
	// ActionsOfApp lists the corporate actions that clients of the app see, newest first: those of
	// stocks that users of the app hold or held.
	ActionsOfApp(ctx context.Context, app AppID, f ActionFilter, p ActionPage) ([]Action, error)
	// ActionOfApp returns such an action, or fails with CodeNotFound.
	ActionOfApp(ctx context.Context, app AppID, id string) (Action, error)
	// Effects lists what such an action did to the holdings of the app's users when it was applied
	// last. It fails with CodeNotFound, and with CodeUnavailable while the action is being applied
	// and too many holdings would have to be read.
	Effects(ctx context.Context, app AppID, id string, p EffectPage) ([]ActionEffect, error)
	// EventsAfter lists at most limit events of the app that come after a sequence, oldest first. A page ends early,
	// even empty and with More, where many events of other types are between. It fails
	// with CodeUnavailable while the next events are of orders that an earlier version booked and that are
	// not in the log yet.
	EventsAfter(ctx context.Context, app AppID, after int64, types EventTypes, limit int) (EventPage, error)
	// Event returns an event of the app, or fails with CodeNotFound.
	Event(ctx context.Context, app AppID, id EventID) (Event, error)
	// NewestEvent returns the newest sequence of all apps. Every event of a later commit has a greater one.
	NewestEvent(ctx context.Context) (sequence int64, err error)
	// Budgets lists the budgets of the app with what is used of them now, by name, also those whose
	// past is being counted.
	Budgets(ctx context.Context, app AppID) ([]BudgetUse, error)
}

// Recorder records the requests of clients. After CodeUnavailable the outcome may be unknown;
// a retry of the same request is safe.
type Recorder interface {
	// Record records a reward. Of several requests with one idempotency key, concurrent or
	// not, exactly one creates a reward.
	Record(ctx context.Context, r NewReward) (Outcome, error)
	// RecordAll records a batch of rewards of one app, as Record would one after the other. Each
	// request has its own outcome or error. When it fails, no outcome is known.
	RecordAll(ctx context.Context, app AppID, batch []NewReward) ([]BatchOutcome, error)
	// CreateUser stores a user and gives it an id. It fails with CodeConflict and
	// DuplicateDetails when the app already has a user with the email or, checked after it,
	// the external id. Of two concurrent requests one fails so.
	CreateUser(ctx context.Context, u User) (User, error)
	// ChangeUser changes a user and returns it. It fails with CodeNotFound, with CodeBadRequest
	// when neither an email nor an external id would be left, and as CreateUser when another user
	// has the new email or external id.
	ChangeUser(ctx context.Context, c UserChange) (User, error)
	// Reverse takes an award back. Of several requests with one idempotency key, concurrent or not,
	// exactly one creates a reversal.
	Reverse(ctx context.Context, n NewReversal) (ReversalOutcome, error)
}

// Prices knows the prices of shares.
type Prices interface {
	// Price returns an asset's price for a share of a generation, or false when it has no usable
	// price now.
	Price(asset AssetID, generation int64) (money.Price, bool)
	// Generation is the one of the asset's price.
	Generation(asset AssetID) int64
	// Reload reads the stored prices. It is needed after a corporate action changed the units.
	Reload(ctx context.Context) error
}

// Service implements the use cases of the API. It is safe for concurrent use.
type Service struct {
	store    Store
	recorder Recorder
	prices   Prices
	now      func() time.Time
	minAward money.USD // of a new award
	webhooks Webhooks

	keys    sync.Map // KeyHash -> *cachedKey
	account *cached[Mode]
	catalog *cached[catalog]
	newest  *cached[int64]
}

// NewService returns a Service.
func NewService(store Store, recorder Recorder, prices Prices, now func() time.Time) *Service {
	return &Service{
		store: store, recorder: recorder, prices: prices, now: now,
		account: newCached[Mode](cacheFor), catalog: newCached[catalog](cacheFor), newest: newCached[int64](newestFor),
		webhooks: Webhooks{Nudge: func() {}},
	}
}

// SetMinAward sets the smallest accepted amount of an award; zero accepts any. It must be
// called before the first request.
func (s *Service) SetMinAward(amount money.USD) { s.minAward = amount }

// cacheFor is how long a key, the account's mode and the catalog are cached, so that a
// revocation or a disabled asset takes effect in every process within a second.
const cacheFor = 500 * time.Millisecond

type cachedKey struct {
	key     Key
	app     App
	account Mode
	until   time.Time
}

// Authenticate returns the app of the presented key. It fails with CodeUnauthorized, always
// with the same message, for a key that is missing, malformed, unknown, expired, revoked, or
// of a mode that the broker's account does not accept. It fails with CodeForbidden for a
// suspended app (specification, section 5). A stored key is returned despite an error, for
// the log.
func (s *Service) Authenticate(ctx context.Context, presented string) (Key, App, error) {
	hash := HashKey(presented)
	c := s.cachedKey(hash)
	if c == nil {
		if !WellFormedKey(presented) {
			return Key{}, App{}, unauthorized()
		}
		var err error
		c, err = s.lookUpKey(ctx, hash)
		if CodeOf(err) == CodeNotFound {
			err = unauthorized()
		}
		if err != nil {
			return Key{}, App{}, err
		}
	}
	switch {
	case !c.key.ValidAt(s.now()) || !c.account.Accepts(ModeOfKey(presented)):
		return c.key, c.app, unauthorized()
	case c.app.Suspended:
		return c.key, c.app, &Error{Code: CodeForbidden, Message: "the app is suspended"}
	default:
		return c.key, c.app, nil
	}
}

func unauthorized() error {
	return &Error{Code: CodeUnauthorized, Message: "missing or invalid x-api-key"}
}

// cachedKey returns a key that was looked up less than cacheFor ago, or nil.
func (s *Service) cachedKey(hash KeyHash) *cachedKey {
	v, _ := s.keys.Load(hash)
	c, found := v.(*cachedKey)
	if !found || !s.now().Before(c.until) {
		return nil
	}
	return c
}

func (s *Service) lookUpKey(ctx context.Context, hash KeyHash) (*cachedKey, error) {
	until := s.now().Add(cacheFor)
	key, app, err := s.store.AppByKey(ctx, hash)
	if err == nil && !key.Hash.Equal(hash) {
		err = notFound("key")
	}
	if err != nil {
		s.keys.Delete(hash)
		return nil, err
	}
	account, err := s.account.get(ctx, s.now, s.store.AccountMode)
	if err != nil {
		return nil, err
	}
	c := &cachedKey{key: key, app: app, account: account, until: until}
	s.keys.Store(hash, c) // bounded by the number of keys: unknown keys are not cached
	return c, nil
}

// CreateUser creates a user of the app, as Recorder.CreateUser (specification, section 4.1).
func (s *Service) CreateUser(ctx context.Context, u User) (User, error) {
	return s.recorder.CreateUser(ctx, u)
}

// ChangeUser changes a user of the app, as Recorder.ChangeUser (additions, section 8).
func (s *Service) ChangeUser(ctx context.Context, c UserChange) (User, error) {
	return s.recorder.ChangeUser(ctx, c)
}

// User returns a user of the app, or fails with CodeNotFound (specification, section 4.3).
func (s *Service) User(ctx context.Context, app AppID, id UserID) (User, error) {
	return s.store.User(ctx, app, id)
}

// Users lists users of the app, newest first (specification, section 4.2).
func (s *Service) Users(ctx context.Context, app AppID, f UserFilter, p Page[User]) ([]User, error) {
	return s.store.Users(ctx, app, f, p)
}

// Reward returns a reward of the app, or fails with CodeNotFound (specification, section 4.6).
func (s *Service) Reward(ctx context.Context, app AppID, id RewardID) (Reward, error) {
	return s.store.Reward(ctx, app, id)
}

// Rewards lists rewards of the app, newest first (specification, section 4.7).
func (s *Service) Rewards(ctx context.Context, app AppID, f RewardFilter, p Page[Reward]) ([]Reward, error) {
	return s.store.Rewards(ctx, app, f, p)
}

// Reverse takes an award back, or a part of it. For a replay it returns the stored reversal and true
// (additions, section 1).
func (s *Service) Reverse(ctx context.Context, n NewReversal) (Reversal, bool, error) {
	o, err := s.recorder.Reverse(ctx, n)
	if err == nil {
		err = o.Refused
	}
	return o.Reversal, o.Replayed, err
}

// Reversal returns a reversal of the app, or fails with CodeNotFound (additions, section 1).
func (s *Service) Reversal(ctx context.Context, app AppID, id ReversalID) (Reversal, error) {
	return s.store.Reversal(ctx, app, id)
}

// Reversals lists reversals of the app, newest first (additions, section 1).
func (s *Service) Reversals(
	ctx context.Context, app AppID, f ReversalFilter, p Page[Reversal],
) ([]Reversal, error) {
	return s.store.Reversals(ctx, app, f, p)
}

// Portfolio values a user's holdings (specification, section 4.4).
func (s *Service) Portfolio(ctx context.Context, app AppID, user UserID) (Portfolio, error) {
	holdings, err := s.store.Holdings(ctx, app, user)
	if err != nil {
		return Portfolio{}, err
	}
	p, err := s.value(ctx, holdings)
	behind := func(h Holding) bool { return h.Generation < s.prices.Generation(h.AssetID) }
	if err == nil || !slices.ContainsFunc(holdings, behind) {
		return p, err
	}
	s.store.ForgetHoldings(app, user) // another process changed the units of a stock, or it was just now
	if holdings, err = s.store.Holdings(ctx, app, user); err != nil {
		return Portfolio{}, err
	}
	return s.value(ctx, holdings)
}

// value values holdings. It reads the prices again when they are in older units.
func (s *Service) value(ctx context.Context, holdings []Holding) (Portfolio, error) {
	c, err := s.catalogOf(ctx, holdings)
	if err != nil {
		return Portfolio{}, err
	}
	ahead := func(h Holding) bool { return h.Generation > s.prices.Generation(h.AssetID) }
	if slices.ContainsFunc(holdings, ahead) {
		if err := s.prices.Reload(ctx); err != nil {
			return Portfolio{}, err
		}
	}
	return Value(holdings, c.symbols, s.prices)
}

// catalogOf returns a catalog that has the assets of the holdings. It reads the catalog again
// if another process has added one since.
func (s *Service) catalogOf(ctx context.Context, holdings []Holding) (catalog, error) {
	c, err := s.catalogNow(ctx)
	incomplete := func(c catalog) bool {
		return slices.ContainsFunc(holdings, func(h Holding) bool { return c.symbols[h.AssetID] == "" })
	}
	if err != nil || !incomplete(c) {
		return c, err
	}
	s.catalog.forget(incomplete)
	if c, err = s.catalogNow(ctx); err == nil && incomplete(c) {
		err = errUnknownAsset
	}
	return c, err
}

// errUnknownAsset means that the store contradicts itself: a user holds an asset that it does not have.
var errUnknownAsset = errors.New("cannot value a portfolio: an asset is not in the catalog")

// Catalog lists the giftable assets, sorted by symbol (specification, section 4.8).
func (s *Service) Catalog(ctx context.Context) ([]Asset, error) {
	c, err := s.catalogNow(ctx)
	return c.list, err
}

// catalogNow returns the catalog, as new as what this process did with it: whoever reads that a stock was renamed,
// finds it under its new symbol.
func (s *Service) catalogNow(ctx context.Context) (catalog, error) {
	old := func(c catalog) bool { return c.number != s.store.CatalogNumber() }
	c, err := s.catalog.get(ctx, s.now, s.loadCatalog)
	if err != nil || !old(c) {
		return c, err
	}
	s.catalog.forget(old)
	return s.catalog.get(ctx, s.now, s.loadCatalog)
}

type catalog struct {
	number   int64 // Store.CatalogNumber before it was read
	list     []Asset
	giftable map[string]AssetID // by symbol
	symbols  map[AssetID]string // of all assets
}

func (s *Service) loadCatalog(ctx context.Context) (catalog, error) {
	number := s.store.CatalogNumber()
	assets, err := s.store.Assets(ctx)
	if err != nil {
		return catalog{}, err
	}
	c := catalog{
		number:   number,
		giftable: make(map[string]AssetID, len(assets)), symbols: make(map[AssetID]string, len(assets)),
	}
	for _, a := range assets {
		c.symbols[a.ID] = a.Symbol
		if a.Giftable() {
			c.list = append(c.list, a)
			c.giftable[a.Symbol] = a.ID
		}
	}
	return c, nil
}
