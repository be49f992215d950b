package rewards

import (
	"context"
	"sync"
	"time"

	"stockrewards/internal/money"
)

// Store is what the use cases read and write. Each method is one atomic step that
// sees everything committed before it began.
type Store interface {
	// AppByKey finds the key with that hash and its app, also when the key is
	// expired or revoked. A hash that is not stored fails with CodeNotFound.
	AppByKey(ctx context.Context, hash KeyHash) (Key, App, error)
	// AccountMode is the mode of the brokerage's account that the books belong to;
	// unknown until they have met it.
	AccountMode(ctx context.Context) (Mode, error)
	// User finds a user of the app, or fails with CodeNotFound.
	User(ctx context.Context, app AppID, id UserID) (User, error)
	// Users lists users of the app, newest first.
	Users(ctx context.Context, app AppID, f UserFilter, p Page[User]) ([]User, error)
	// Reward finds a reward of the app, or fails with CodeNotFound.
	Reward(ctx context.Context, app AppID, id RewardID) (Reward, error)
	// Rewards lists rewards of the app, newest first.
	Rewards(ctx context.Context, app AppID, f RewardFilter, p Page[Reward]) ([]Reward, error)
	// Holdings lists what a user holds, sorted by symbol, or fails with
	// CodeNotFound when the app has no such user.
	Holdings(ctx context.Context, app AppID, user UserID) ([]Holding, error)
	// Assets lists the catalog sorted by symbol, disabled ones included.
	Assets(ctx context.Context) ([]Asset, error)
}

// Recorder stores what clients send. A failure with CodeUnavailable means that nothing
// is known to be stored; the same request can be made again.
type Recorder interface {
	// Record records a reward. Of several requests with one key, at once or not, exactly
	// one creates a reward.
	Record(ctx context.Context, r NewReward) (Outcome, error)
	// CreateUser stores a user and gives it an id. An email or external id that the
	// app has already fails with CodeConflict and DuplicateDetails, the email's
	// first; of two at once one fails so.
	CreateUser(ctx context.Context, u User) (User, error)
}

// Prices tells what a share is worth now; false when there is no usable price.
type Prices interface {
	Price(asset AssetID) (money.Price, bool)
}

// Service is the use cases of the interface. It is safe for concurrent use.
type Service struct {
	store    Store
	recorder Recorder
	prices   Prices
	now      func() time.Time
	minAward money.USD // of a new award

	keys    sync.Map // KeyHash -> cachedKey
	account cached[Mode]
	catalog cached[catalog]
}

// NewService makes the use cases.
func NewService(store Store, recorder Recorder, prices Prices, now func() time.Time) *Service {
	return &Service{store: store, recorder: recorder, prices: prices, now: now}
}

// SetMinAward sets the smallest amount of a new award; zero takes any. It must be called before
// the first request.
func (s *Service) SetMinAward(amount money.USD) { s.minAward = amount }

// cacheFor is how long a key, the account's mode or the catalog is believed. A revocation or a
// delisting on any process is in force everywhere within a second.
const cacheFor = 500 * time.Millisecond

type cachedKey struct {
	key     Key
	app     App
	account Mode
	until   time.Time
}

// Authenticate finds the app of a key as presented. A key that is missing,
// malformed, unknown, expired, revoked or of a mode that the brokerage's account does
// not accept fails with CodeUnauthorized, always in the same words; that of a suspended
// app with CodeForbidden (specification, section 5). A key that is stored is returned even so, for the log.
func (s *Service) Authenticate(ctx context.Context, presented string) (Key, App, error) {
	unauthorized := &Error{Code: CodeUnauthorized, Message: "missing or invalid x-api-key"}
	hash := HashKey(presented)
	c, found := s.cachedKey(hash)
	var err error
	if !found {
		if !WellFormedKey(presented) {
			return Key{}, App{}, unauthorized
		}
		c, err = s.lookUpKey(ctx, hash)
	}
	switch {
	case CodeOf(err) == CodeNotFound:
		err = unauthorized
	case err != nil:
	case !c.key.ValidAt(s.now()) || !c.account.Accepts(ModeOfKey(presented)):
		err = unauthorized
	case c.app.Suspended:
		err = &Error{Code: CodeForbidden, Message: "the app is suspended"}
	}
	return c.key, c.app, err
}

// cachedKey is what was looked up a moment ago.
func (s *Service) cachedKey(hash KeyHash) (c cachedKey, found bool) {
	if v, ok := s.keys.Load(hash); ok {
		c, found = v.(cachedKey)
	}
	return c, found && s.now().Before(c.until)
}

func (s *Service) lookUpKey(ctx context.Context, hash KeyHash) (cachedKey, error) {
	until := s.now().Add(cacheFor)
	key, app, err := s.store.AppByKey(ctx, hash)
	if err == nil && !key.Hash.Equal(hash) {
		err = notFound("key")
	}
	if err != nil {
		s.keys.Delete(hash)
		return cachedKey{}, err
	}
	account, err := s.account.get(ctx, s.now, s.store.AccountMode)
	if err != nil {
		return cachedKey{}, err
	}
	c := cachedKey{key: key, app: app, account: account, until: until}
	s.keys.Store(hash, c) // at most as many as there are keys: unknown ones are not kept
	return c, nil
}

// CreateUser creates a user of the app (specification, section 4.1).
func (s *Service) CreateUser(ctx context.Context, u User) (User, error) {
	return s.recorder.CreateUser(ctx, u)
}

// User finds a user of the app (specification, section 4.3).
func (s *Service) User(ctx context.Context, app AppID, id UserID) (User, error) {
	return s.store.User(ctx, app, id)
}

// Users lists users of the app, newest first (specification, section 4.2).
func (s *Service) Users(ctx context.Context, app AppID, f UserFilter, p Page[User]) ([]User, error) {
	return s.store.Users(ctx, app, f, p)
}

// Give records a reward, or answers a repeated request with the stored one
// (specification, section 4.5). It tells whether it was a replay.
func (s *Service) Award(ctx context.Context, r NewReward) (Reward, bool, error) {
	c, err := s.catalog.get(ctx, s.now, s.loadCatalog)
	if err != nil {
		return Reward{}, false, err
	}
	r.AssetID, r.MinAmount = c.giftable[r.Symbol], s.minAward
	outcome, err := s.recorder.Record(ctx, r)
	if err != nil {
		return Reward{}, false, err
	}
	return outcome.answer(r)
}

func (o Outcome) answer(r NewReward) (Reward, bool, error) {
	switch o.Verdict {
	case Created:
		return o.Reward, false, nil
	case Replay:
		return o.Reward, true, nil
	case Conflict:
		return Reward{}, false, &Error{
			Code: CodeConflict, Message: "idempotencyKey was already used with a different payload",
			Details: KeyDetails{r.IdempotencyKey},
		}
	case NoSuchUser:
		return Reward{}, false, notFound("user")
	case BelowMinAward:
		return Reward{}, false, &Error{
			Code: CodeUnprocessable, Message: "amountUsd is less than the smallest award that the operator takes",
			Details: MinAwardDetails{r.MinAmount},
		}
	case NotGiftable:
	}
	return Reward{}, false, &Error{
		Code: CodeUnprocessable, Message: "assetSymbol is not in the catalog",
		Details: AssetDetails{r.Symbol},
	}
}

// Reward finds a reward of the app (specification, section 4.6).
func (s *Service) Reward(ctx context.Context, app AppID, id RewardID) (Reward, error) {
	return s.store.Reward(ctx, app, id)
}

// Rewards lists rewards of the app, newest first (specification, section 4.7).
func (s *Service) Rewards(ctx context.Context, app AppID, f RewardFilter, p Page[Reward]) ([]Reward, error) {
	return s.store.Rewards(ctx, app, f, p)
}

// Portfolio values what a user holds (specification, section 4.4).
func (s *Service) Portfolio(ctx context.Context, app AppID, user UserID) (Portfolio, error) {
	holdings, err := s.store.Holdings(ctx, app, user)
	if err != nil {
		return Portfolio{}, err
	}
	return Value(holdings, s.prices.Price)
}

// Catalog lists the assets that can be given now, sorted by symbol
// (specification, section 4.8).
func (s *Service) Catalog(ctx context.Context) ([]Asset, error) {
	c, err := s.catalog.get(ctx, s.now, s.loadCatalog)
	return c.list, err
}

type catalog struct {
	list     []Asset
	giftable map[string]AssetID // by symbol
}

func (s *Service) loadCatalog(ctx context.Context) (catalog, error) {
	assets, err := s.store.Assets(ctx)
	if err != nil {
		return catalog{}, err
	}
	c := catalog{giftable: make(map[string]AssetID, len(assets))}
	for _, a := range assets {
		if a.Giftable() {
			c.list = append(c.list, a)
			c.giftable[a.Symbol] = a.ID
		}
	}
	return c, nil
}
